"""Addresses of the grader's desk; labs.urls includes them in its namespace."""

from django.urls import path

from labs import review_views, without_views

_review = "reviews/<uuid:public_id>/"

urlpatterns = [
    path("reviews/", review_views.queue, name="review-queue"),
    path(_review, review_views.desk, name="review"),
    path(_review + "claim/", review_views.claim, name="review-claim"),
    path(_review + "without/", without_views.show, name="review-without"),
    path(_review + "release/", review_views.release, name="review-release"),
]
