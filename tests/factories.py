"""The smallest valid rows."""

import factory
from factory.django import DjangoModelFactory

from courseware.models import User
from labs.models import Action, Attempt, Review, next_seq


class UserFactory(DjangoModelFactory):
    """A learner without a password; tests sign people in by ``force_login``."""

    class Meta:
        model = User

    email = factory.Sequence(lambda n: f"person{n}@example.org")
    name = factory.Sequence(lambda n: f"Person {n}")
    role = User.Role.LEARNER
    password = "!"


class AttemptFactory(DjangoModelFactory):
    """A marked attempt at the first lab, with an empty log."""

    class Meta:
        model = Attempt

    learner = factory.SubFactory(UserFactory)
    lab_slug = "preemption-storm"
    lab_version = 1
    seed = 1
    number = factory.Sequence(lambda n: n + 1)
    status = Attempt.Status.MARKED


class ActionFactory(DjangoModelFactory):
    """One command of an attempt's log, done; the next in the log."""

    class Meta:
        model = Action

    attempt = factory.SubFactory(AttemptFactory)
    seq = factory.LazyAttribute(lambda action: next_seq(action.attempt.pk))
    kind = Action.Kind.COMMAND
    status = Action.Status.DONE


class ReviewFactory(DjangoModelFactory):
    """The review of a marked attempt: nobody has claimed it."""

    class Meta:
        model = Review

    attempt = factory.SubFactory(AttemptFactory)
