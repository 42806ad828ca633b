"""Print a one-time sign-in link, while developing."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from courseware.models import User
from courseware.people import demo_people, new_sign_in_link


class Command(BaseCommand):
    help = "Print the path of a link that signs one person in, once. Works only while DEBUG is on."
    # Reading the whole course first would only make it slow.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("role", choices=User.Role.values, help="whose demo person to sign in")
        parser.add_argument("--email", help="someone else; made with that role if not known yet")

    def handle(self, *_args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("One-time links exist only while DEBUG is on.")
        role, email = options["role"], options["email"]
        if email:
            person = User.objects.filter(email__iexact=email).first()
            if person is None:
                person = User.objects.create_user(email, role=role)
        else:
            person = next(one for one in demo_people() if one.role == role)
        # On the other stream: a script that asks for the link gets nothing else.
        self.stderr.write("Open it behind the address of the running site:", self.style.WARNING)
        self.stdout.write(reverse("sign-in-link", args=[new_sign_in_link(person)]))
