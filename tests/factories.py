"""The smallest valid rows."""

import factory
from factory.django import DjangoModelFactory

from courseware.models import User


class UserFactory(DjangoModelFactory):
    """A learner without a password; tests sign people in by ``force_login``."""

    class Meta:
        model = User

    email = factory.Sequence(lambda n: f"person{n}@example.org")
    name = factory.Sequence(lambda n: f"Person {n}")
    role = User.Role.LEARNER
    password = "!"
