"""Make someone a learner, an instructor or a grader."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from courseware.models import User


class Command(BaseCommand):
    help = "Give a person a role."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("role", choices=User.Role.values)

    def handle(self, *_args: Any, **options: Any) -> None:
        changed = User.objects.filter(email__iexact=options["email"]).update(role=options["role"])
        if changed != 1:
            raise CommandError(f"Nobody has the e-mail address {options['email']}.")
        self.stdout.write(f"{options['email']} has the role {options['role']} now.")
