"""Addresses below /studio/."""

from django.urls import URLPattern, URLResolver, path

from courseware.studio import draft_views, proof_views, publish_views, views

app_name = "studio"

_draft = "drafts/<uuid:public_id>/"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.index, name="index"),
    path("new/", views.new, name="new"),
    path("trial/end/", proof_views.end_trial, name="end-trial"),
    path(_draft, draft_views.draft, name="draft"),
    path(_draft + "look/", draft_views.look, name="look"),
    path(_draft + "preview/", draft_views.preview, name="preview"),
    path(_draft + "files/", draft_views.files, name="files"),
    path(_draft + "prove/", proof_views.prove, name="prove"),
    path(_draft + "proof/", proof_views.proof, name="proof"),
    path(_draft + "proof/cancel/", proof_views.cancel_proof, name="cancel-proof"),
    path(_draft + "try/", draft_views.try_it, name="try"),
    path(_draft + "publish/", publish_views.publish, name="publish"),
    path(_draft + "take-over/", publish_views.take_over, name="take-over"),
    path(_draft + "throw-away/", publish_views.throw_away, name="throw-away"),
    path("pieces/<path:path>/versions/<int:number>/", views.version, name="version"),
    path("pieces/<path:path>/", views.piece, name="piece"),
]
