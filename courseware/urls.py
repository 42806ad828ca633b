"""The site map."""

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path

from courseware import views

handler403 = views.not_allowed
handler404 = views.not_there

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.home, name="home"),
    path("account/", views.account, name="account"),
    path("account/", include("allauth.account.urls")),
    path("sign-in/<str:token>/", views.sign_in_link, name="sign-in-link"),
    path("theme/", views.theme, name="theme"),
    path("healthz", views.healthz, name="healthz"),
    path("", include("lessons.lookup_urls")),
    path("", include("lessons.person_urls")),
    path("lessons/", include("lessons.urls")),
    path("labs/", include("labs.urls")),
    path("cohorts/", include("courseware.cohorts.urls")),
    path("studio/", include("courseware.studio.urls")),
]

if settings.OIDC_SERVER_URL:
    urlpatterns += [
        path("account/oidc/", include("allauth.socialaccount.providers.openid_connect.urls")),
        path("account/3rdparty/", include("allauth.socialaccount.urls")),
    ]
