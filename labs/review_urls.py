"""Addresses of the grader's desk; labs.urls includes them in its namespace."""

from django.urls import path

from labs import (
    keys_views,
    queue_views,
    regrade_views,
    review_views,
    rubric_views,
    rules_views,
    story_views,
    training_views,
    without_views,
)

_review = "reviews/<uuid:public_id>/"

urlpatterns = [
    path("rubrics/", rubric_views.index, name="rubrics"),
    path("rubrics/<slug:slug>/", rubric_views.edit, name="rubric"),
    path("rubrics/<slug:slug>/undo/", rubric_views.undo, name="rubric-undo"),
    path("reviews/", queue_views.queue, name="review-queue"),
    path("reviews/next/", queue_views.following, name="review-next"),
    path("reviews/keys/", keys_views.keys, name="review-keys"),
    path("reviews/load/", keys_views.load, name="review-load"),
    path("reviews/agreement/", keys_views.agreement, name="review-agreement"),
    path("reviews/rules/", rules_views.rules, name="review-rules"),
    path("reviews/rules/<slug:slug>/", rules_views.rules_of_lab, name="review-rules-lab"),
    path("reviews/order/", queue_views.order, name="review-order"),
    path("reviews/training/", training_views.index, name="training"),
    path("reviews/training/<slug:slug>/", training_views.lab, name="training-lab"),
    path(
        "reviews/training/<slug:slug>/<uuid:public_id>/",
        training_views.case,
        name="training-case",
    ),
    path(
        "reviews/training/<uuid:public_id>/remove/", training_views.remove, name="training-remove"
    ),
    path(_review + "settle/", rules_views.settle, name="review-settle"),
    path(_review + "training/", training_views.add, name="training-add"),
    path("reviews/regrades/", regrade_views.index, name="regrades"),
    path("reviews/regrades/<uuid:public_id>/", regrade_views.desk, name="regrade"),
    path("reviews/regrades/<uuid:public_id>/claim/", regrade_views.claim, name="regrade-claim"),
    path(_review, review_views.desk, name="review"),
    path(_review + "claim/", queue_views.claim, name="review-claim"),
    path(_review + "keep/", review_views.keep, name="review-keep"),
    path(_review + "skip/", review_views.skip, name="review-skip"),
    path(_review + "free/", queue_views.free, name="review-free"),
    path(_review + "story/", story_views.show, name="review-story"),
    path(_review + "without/", without_views.show, name="review-without"),
    path(_review + "release/", review_views.release, name="review-release"),
]
