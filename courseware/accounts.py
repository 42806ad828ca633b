"""How allauth is fitted to this site: who may sign up, and what we ask them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.forms import AddEmailForm, LoginForm, SignupForm
from django import forms
from django.conf import settings

if TYPE_CHECKING:
    from django.http import HttpRequest


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # allauth has no types
    """The site's answers to allauth's questions."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002
        return bool(settings.SIGN_UP_OPEN)


class SignInForm(LoginForm):  # type: ignore[misc]  # allauth has no types
    """E-mail and password."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["login"].label = "E-mail address"
        self.fields["password"].help_text = ""
        if "remember" in self.fields:
            self.fields["remember"].label = "Stay signed in on this machine"
        for field in self.fields.values():
            field.widget.attrs.pop("placeholder", None)


class AnotherAddressForm(AddEmailForm):  # type: ignore[misc]  # allauth has no types
    """One more e-mail address."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = "Another e-mail address"
        self.fields["email"].widget.attrs.pop("placeholder", None)


class SignUpForm(SignupForm):  # type: ignore[misc]  # allauth has no types
    """E-mail, password, and the name that graders and cohorts will read."""

    name = forms.CharField(
        label="Your name",
        max_length=80,
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
        help_text="Shown to your instructor and to graders.",
    )
    field_order = ("name", "email", "password1")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["email"].label = "E-mail address"
        self.fields[
            "password1"
        ].help_text = "At least eight characters, and not one that many people use."
        for field in self.fields.values():
            field.widget.attrs.pop("placeholder", None)

    def save(self, request: HttpRequest) -> Any:
        user = super().save(request)
        if user is not None:
            user.name = self.cleaned_data["name"]
            user.save(update_fields=["name"])
        return user
