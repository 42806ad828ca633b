"""Addresses below /lessons/."""

from django.urls import URLPattern, URLResolver, path

from lessons import (
    check_views,
    demo_views,
    insight_views,
    keyword_views,
    run_views,
    sure_views,
    views,
)

app_name = "lessons"

urlpatterns: list[URLPattern | URLResolver] = [
    path("", views.index, name="index"),
    # Before the lessons: none is called "reports" or "insight".
    path("insight/", insight_views.index, name="insight"),
    path("insight/keywords/", keyword_views.insight, name="insight-keywords"),
    path("insight/sure/", sure_views.insight, name="insight-sure"),
    path("insight/<slug:lesson>/<slug:check>/", insight_views.item, name="insight-item"),
    path("reports/", check_views.reports, name="reports"),
    path("reports/<int:report>/done/", check_views.finish_report, name="report-done"),
    path("<slug:lesson>/", views.lesson, name="lesson"),
    path("<slug:lesson>/<slug:station>/", views.station, name="station"),
    path("<slug:lesson>/<slug:station>/read/", views.read, name="read"),
    path("<slug:lesson>/<slug:station>/opened/", keyword_views.opened, name="opened"),
    path("<slug:lesson>/checks/<slug:check>/", check_views.answer, name="answer"),
    path("<slug:lesson>/checks/<slug:check>/hint/", check_views.hint, name="hint"),
    path("<slug:lesson>/checks/<slug:check>/why/", check_views.why, name="why"),
    path("<slug:lesson>/checks/<slug:check>/problem/", check_views.problem, name="problem"),
    path("<slug:lesson>/demos/<slug:demo>/", demo_views.demo, name="demo"),
    path("<slug:lesson>/runs/<slug:step>/", run_views.run, name="run"),
    path("<slug:lesson>/predictions/<slug:prediction>/", views.prediction, name="prediction"),
    path("<slug:lesson>/predictions/<slug:prediction>/seen/", views.seen, name="seen"),
    path("<slug:lesson>/predictions/<slug:prediction>/again/", views.again, name="again"),
]
