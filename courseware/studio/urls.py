"""Addresses below /studio/."""

from django.urls import URLPattern, URLResolver, path

from courseware.studio import draft_views, views

app_name = "studio"

_draft = "drafts/<uuid:public_id>/"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.index, name="index"),
    path("new/", views.new, name="new"),
    path("trial/end/", draft_views.end_trial, name="end-trial"),
    path(_draft, draft_views.draft, name="draft"),
    path(_draft + "look/", draft_views.look, name="look"),
    path(_draft + "preview/", draft_views.preview, name="preview"),
    path(_draft + "files/", draft_views.files, name="files"),
    path(_draft + "prove/", draft_views.prove, name="prove"),
    path(_draft + "proof/", draft_views.proof, name="proof"),
    path(_draft + "proof/cancel/", draft_views.cancel_proof, name="cancel-proof"),
    path(_draft + "try/", draft_views.try_it, name="try"),
    path(_draft + "publish/", draft_views.publish, name="publish"),
    path(_draft + "take-over/", draft_views.take_over, name="take-over"),
    path(_draft + "throw-away/", draft_views.throw_away, name="throw-away"),
    path("pieces/<path:path>/versions/<int:number>/", views.version, name="version"),
    path("pieces/<path:path>/", views.piece, name="piece"),
]
