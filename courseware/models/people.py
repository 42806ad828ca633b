"""People and their one-time links."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.models import AbstractUser, BaseUserManager
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone


class UserManager(BaseUserManager["User"]):
    """Makes people from an e-mail address; there are no user names."""

    use_in_migrations = True

    def create_user(self, email: str, password: str | None = None, **fields: object) -> User:
        """Create a person. Without a password, only a link or the organisation lets them in."""
        if not email:
            raise ValueError("a person needs an e-mail address")
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: object) -> User:
        return self.create_user(
            email, password, **{**fields, "is_staff": True, "is_superuser": True}
        )

    def get_by_natural_key(self, username: str | None) -> User:
        return self.get(email__iexact=username)


class User(AbstractUser):
    """Someone who learns, teaches or reviews."""

    class Role(models.TextChoices):
        LEARNER = "learner", "Learner"
        INSTRUCTOR = "instructor", "Instructor"
        GRADER = "grader", "Grader"

    username = None  # type: ignore[assignment]  # an e-mail address is the name here
    first_name = None  # type: ignore[assignment]
    last_name = None  # type: ignore[assignment]
    email = models.EmailField("e-mail address", unique=True)
    name = models.CharField("your name", max_length=80, blank=True)
    role = models.CharField(max_length=12, choices=Role, default=Role.LEARNER)

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects: ClassVar[UserManager] = UserManager()  # type: ignore[assignment]

    class Meta:
        constraints = (
            models.UniqueConstraint(
                Lower("email"),
                name="user_email_is_unique_in_any_case",
                violation_error_message="Someone has an account with this e-mail address.",
            ),
        )

    def __str__(self) -> str:
        return self.name or self.email

    def get_full_name(self) -> str:
        return str(self)

    def get_short_name(self) -> str:
        return str(self)

    @property
    def initials(self) -> str:
        """One or two letters for the top bar."""
        words = (self.name or self.email.partition("@")[0]).replace(".", " ").split()
        return "".join(word[0] for word in (words[:1] + words[1:][-1:])).upper() or "?"


class SignInLink(models.Model):
    """A link that signs one person in, once. The row holds a hash: reading the table opens nothing."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_links")
    token_hash = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        state = "used" if self.used_at else "open"
        return f"{state} link of {self.user_id}, until {self.expires_at:%Y-%m-%d %H:%M}"

    @property
    def is_open(self) -> bool:
        return self.used_at is None and self.expires_at > timezone.now()
