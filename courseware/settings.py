"""Settings: one file. A bare checkout runs on these values; the environment overrides them.

Every variable that is read here is listed in docs/operators.md. A value that cannot be read
raises at start: a typed ``DEBUG=ture`` must not quietly mean "off".
"""

import os
import platform
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured
from django.utils.csp import CSP

BASE_DIR = Path(__file__).resolve().parent.parent


def env_str(name: str, default: str = "") -> str:
    return os.environ.get(name, default)


def env_bool(name: str, *, default: bool) -> bool:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    raw = os.environ.get(name, "")
    if not raw:
        return default
    if raw.lower() not in words:
        raise ImproperlyConfigured(f"{name}={raw!r}: write true or false")
    return words[raw.lower()]


def env_int(name: str, *, default: int, minimum: int = 0) -> int:
    raw = os.environ.get(name, "")
    if not raw:
        return default
    try:
        value = int(raw)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={raw!r}: write a whole number") from None
    if value < minimum:
        raise ImproperlyConfigured(f"{name}={value}: the least it can be is {minimum}")
    return value


def env_list(name: str) -> list[str]:
    """Read comma-separated words; unset is an empty list."""
    return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]


def database(url: str) -> dict[str, Any]:
    """Turn ``sqlite:///path`` or ``postgres://user:password@host:port/name?option=value`` into a database."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        if parts.netloc or not parts.path.strip("/"):
            raise ImproperlyConfigured(
                f"DATABASE_URL={url!r}: write sqlite:///relative or sqlite:////absolute"
            )
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": BASE_DIR / unquote(parts.path[1:]),
            "OPTIONS": {
                # A write takes its lock at BEGIN, so two writers queue instead of one failing late.
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                "init_command": (
                    "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA busy_timeout=20000;"
                ),
            },
        }
    if parts.scheme in {"postgres", "postgresql"} and parts.path.strip("/"):
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": unquote(parts.path[1:]),
            "USER": unquote(parts.username or ""),
            "PASSWORD": unquote(parts.password or ""),
            "HOST": parts.hostname or "",
            "PORT": str(parts.port or ""),
            "CONN_HEALTH_CHECKS": True,
            "OPTIONS": dict(parse_qsl(parts.query)),
        }
    raise ImproperlyConfigured(
        f"DATABASE_URL={url!r}: write sqlite:///path or postgres://user:password@host/name"
    )


# ------------------------------------------------------------------------------- what this site is

DEBUG = env_bool("DEBUG", default=True)

# courseware.checks refuses DEBUG=false with this key.
INSECURE_SECRET_KEY = "development-only-key-which-signs-nothing-that-matters"
SECRET_KEY = env_str("SECRET_KEY", INSECURE_SECRET_KEY)

ALLOWED_HOSTS = env_list("ALLOWED_HOSTS") or (["*"] if DEBUG else [])
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS")

# What `make run` keeps between two starts: the broker's data, beat's schedule, logs.
RUN_DIR = BASE_DIR / env_str("RUN_DIR", ".run")

INSTALLED_APPS = [
    "courseware",
    "lessons",
    "labs",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "servestatic.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.forms",
    "django_htmx",
    "allauth",
    "allauth.account",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "courseware.middleware.Compressed",
    "courseware.middleware.Static",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "courseware.middleware.our_own_404",
    "courseware.middleware.too_large",
    "courseware.middleware.served_anew",
    "allauth.account.middleware.AccountMiddleware",
]

ROOT_URLCONF = "courseware.urls"
ASGI_APPLICATION = "courseware.asgi.application"

_loaders: list[Any] = [
    "django.template.loaders.filesystem.Loader",
    "django.template.loaders.app_directories.Loader",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "courseware.navigation.frame",
            ],
            # While developing, an edited template shows at the next request.
            "loaders": _loaders if DEBUG else [("django.template.loaders.cached.Loader", _loaders)],
        },
    }
]

# {{ form }} renders templates/django/forms/, so every form looks like ours without a word.
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

LANGUAGE_CODE = "en-gb"
TIME_ZONE = env_str("TIME_ZONE", "UTC")
USE_TZ = True
USE_I18N = False

# ---------------------------------------------------------------------------------------- database

DATABASES = {"default": database(env_str("DATABASE_URL", "sqlite:///db.sqlite3"))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# ----------------------------------------------------------------------------------------- people

AUTH_USER_MODEL = "courseware.User"
AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "home"

ACCOUNT_ADAPTER = "courseware.accounts.AccountAdapter"
ACCOUNT_FORMS = {
    "add_email": "courseware.accounts.AnotherAddressForm",
    "login": "courseware.accounts.SignInForm",
    "signup": "courseware.accounts.SignUpForm",
}
ACCOUNT_LOGIN_METHODS = {"email"}
ACCOUNT_SIGNUP_FIELDS = ["email*", "password1*"]
ACCOUNT_USER_MODEL_USERNAME_FIELD = None
ACCOUNT_UNIQUE_EMAIL = True
ACCOUNT_EMAIL_VERIFICATION = env_str(
    # Without a mail server nobody could follow the link.
    "EMAIL_VERIFICATION",
    "mandatory" if env_str("MAIL_HOST") else "optional",
)
ACCOUNT_EMAIL_SUBJECT_PREFIX = "Debugging LLM Serving: "
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "http" if DEBUG else "https"
# False: only people whom an operator invited (`manage.py invite`) can get in.
SIGN_UP_OPEN = env_bool("SIGN_UP_OPEN", default=True)
# Whoever is signed in may read what is for enrolled people; False: only members of a running cohort.
OPEN_ENROLMENT = env_bool("OPEN_ENROLMENT", default=True)

# Sign-in by an organisation's OpenID Connect server, as soon as its address is given.
OIDC_SERVER_URL = env_str("OIDC_SERVER_URL")
OIDC_NAME = env_str("OIDC_NAME", "your organisation")
if OIDC_SERVER_URL:
    INSTALLED_APPS += [
        "allauth.socialaccount",
        "allauth.socialaccount.providers.openid_connect",
    ]
    SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": {
            "OAUTH_PKCE_ENABLED": True,
            "APPS": [
                {
                    "provider_id": "oidc",
                    "name": OIDC_NAME,
                    "client_id": env_str("OIDC_CLIENT_ID"),
                    "secret": env_str("OIDC_CLIENT_SECRET"),
                    "settings": {"server_url": OIDC_SERVER_URL},
                }
            ],
        }
    }
    SOCIALACCOUNT_EMAIL_AUTHENTICATION = True
    SOCIALACCOUNT_EMAIL_AUTHENTICATION_AUTO_CONNECT = True

# A one-time link works once, within this time, and only while DEBUG is on.
SIGN_IN_LINK_LIFETIME_S = 8 * 60 * 60

# ------------------------------------------------------------------------------------------ mails

DEFAULT_FROM_EMAIL = env_str("MAIL_FROM", "course@localhost")
SERVER_EMAIL = DEFAULT_FROM_EMAIL
if env_str("MAIL_HOST"):
    MAILERS = {
        "default": {
            "BACKEND": "django.core.mail.backends.smtp.EmailBackend",
            "OPTIONS": {
                "host": env_str("MAIL_HOST"),
                "port": env_int("MAIL_PORT", default=587, minimum=1),
                "username": env_str("MAIL_USER"),
                "password": env_str("MAIL_PASSWORD"),
                "use_tls": env_bool("MAIL_TLS", default=True),
                "timeout": 10,
            },
        }
    }
else:
    MAILERS = {"default": {"BACKEND": "django.core.mail.backends.console.EmailBackend"}}

# --------------------------------------------------------------------------------------- security

# No inline script, no inline style, nothing from another host: pages carry data, files carry code.
SECURE_CSP = {
    "default-src": [CSP.SELF],
    "img-src": [CSP.SELF, "data:"],
    "connect-src": [CSP.SELF],
    "object-src": [CSP.NONE],
    "base-uri": [CSP.NONE],
    "form-action": [CSP.SELF],
    "frame-ancestors": [CSP.NONE],
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_SSL_REDIRECT = env_bool("HTTPS", default=not DEBUG)
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
SECURE_HSTS_SECONDS = env_int("HSTS_SECONDS", default=0 if DEBUG else 3600)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT
SESSION_COOKIE_AGE = 30 * 24 * 60 * 60
SESSION_ENGINE = "django.contrib.sessions.backends.db"
CSRF_FAILURE_VIEW = "courseware.views.csrf_failure"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000

# ----------------------------------------------------------------------------------- static files

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / env_str("STATIC_ROOT", "staticfiles")
STATICFILES_DIRS = [BASE_DIR / "static"]
SERVESTATIC_USE_FINDERS = SERVESTATIC_AUTOREFRESH = DEBUG
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": (
            "django.contrib.staticfiles.storage.StaticFilesStorage"
            if DEBUG
            else "servestatic.storage.CompressedManifestStaticFilesStorage"
        )
    },
}

# ------------------------------------------------------------------------------- background work


def _redis_url() -> str:
    """Name the broker: REDIS_URL, else the one that a running `make run` has noted, else the usual port."""
    noted = RUN_DIR / "broker.url"
    if env_str("REDIS_URL"):
        return env_str("REDIS_URL")
    if DEBUG and noted.exists():
        return noted.read_text().strip()
    return "redis://127.0.0.1:6379/0"


REDIS_URL = _redis_url()
# The longest that one task may take. It bounds when a lost message is delivered again.
TASK_TIME_LIMIT_S = env_int("TASK_TIME_LIMIT_S", default=120, minimum=5)

CELERY_BROKER_URL = REDIS_URL
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# The row is the truth: no result backend, nothing to expire.
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_SOFT_TIME_LIMIT = TASK_TIME_LIMIT_S
CELERY_TASK_TIME_LIMIT = TASK_TIME_LIMIT_S + 15
# A queued action waits in the broker, where every worker sees it, not inside one worker.
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = env_int("SOFT_SHUTDOWN_S", default=2 if DEBUG else 30)
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Above the hard limit, or a task that still runs would run twice.
    "visibility_timeout": 10 * TASK_TIME_LIMIT_S,
    "unacked_restore_throttle": 1,
    "socket_keepalive": True,
    "socket_connect_timeout": 5,
}
CELERY_TIMEZONE = TIME_ZONE
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    # Beat to broker to worker: /healthz/ says how long ago the whole chain last moved.
    "pulse": {
        "task": "courseware.tasks.note_pulse",
        "schedule": 15,
        "options": {"expires": 15},
    },
    # Sends what the broker did not get, and takes up what went silent.
    "tend-actions": {
        "task": "labs.tasks.tend_actions",
        "schedule": 5,
        "options": {"expires": 5},
    },
    # Ends leases whose holder is silent, and rings again for those that wait.
    "tend-leases": {
        "task": "labs.tasks.tend_leases",
        "schedule": 15,
        "options": {"expires": 15},
    },
    # Each row remembers its day: a mail goes out once, and one that was lost at the next hour.
    "remind-of-reviews": {
        "task": "lessons.tasks.remind_all",
        "schedule": 60 * 60,
        "options": {"expires": 60 * 60},
    },
}

# An action whose worker has been silent for so long is taken up by another ...
LABS_SILENCE_S = env_int("LABS_SILENCE_S", default=10, minimum=1)
# ... and one that nobody took up for so long is announced again.
LABS_FORGOTTEN_S = env_int("LABS_FORGOTTEN_S", default=10, minimum=1)

# ------------------------------------------------------------------------------------- live labs

# The name under which this machine holds leases on engines: one lease a name at once.
LIVE_BOX = env_str("LIVE_BOX") or platform.node() or "box"
# What this machine has, and what it starts engines with: a file of labs/live/profiles.
LIVE_PROFILE = env_str("LIVE_PROFILE", "cpu")
# What a box keeps while a lease lasts: logs of engines, and what is to be undone. Two sites on one machine: two folders.
LIVE_DIR = BASE_DIR / env_str("LIVE_DIR", ".live/run")
# The function that makes an engine's session of a lease.
LIVE_SESSION = env_str("LIVE_SESSION", "labs.live_engine.session_of")
# The clocks of a lease: from its claim until the engine must answer; without an action; from ready on; each extension.
LIVE_START_S = env_int("LIVE_START_S", default=300, minimum=1)
LIVE_IDLE_S = env_int("LIVE_IDLE_S", default=600, minimum=1)
LIVE_DEADLINE_S = env_int("LIVE_DEADLINE_S", default=2700, minimum=1)
LIVE_EXTENSIONS = env_int("LIVE_EXTENSIONS", default=2)
LIVE_EXTENSION_S = env_int("LIVE_EXTENSION_S", default=900, minimum=1)
# A lease whose holder has been silent for so long is over.
LIVE_SILENCE_S = env_int("LIVE_SILENCE_S", default=30, minimum=5)
# An engine that is told to end is killed after so long.
LIVE_GRACE_S = env_int("LIVE_GRACE_S", default=10, minimum=1)
# Within this time whoever has held engines the least comes first.
LIVE_FAIR_WINDOW_S = env_int("LIVE_FAIR_WINDOW_S", default=6 * 60 * 60, minimum=60)
# The most that one person gets within 24 hours, and that one cohort's people have or wait for at once.
LIVE_PER_PERSON_DAY_S = env_int("LIVE_PER_PERSON_DAY_S", default=3 * 60 * 60)
LIVE_PER_COHORT = env_int("LIVE_PER_COHORT", default=12)
LIVE_LONGEST_S = LIVE_START_S + LIVE_DEADLINE_S + LIVE_EXTENSIONS * LIVE_EXTENSION_S
# Workers of a box hold leases; no other worker has an engine at hand.
CELERY_TASK_ROUTES = {"labs.tasks.hold_lease": {"queue": "live"}}

# Management commands that `make run` calls after migrating, before the first page.
CONTENT_COMMANDS = ["sync_content"]
# A process looks this often whether something was published; 0 is never, and the files of the checkout are served.
CONTENT_LOOK_EVERY_S = env_int("CONTENT_LOOK_EVERY_S", default=2, minimum=0)

# ---------------------------------------------------------------------------------------- logging

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env_str("LOG_LEVEL", "INFO")},
    "loggers": {
        "django": {"handlers": ["console"], "level": "INFO", "propagate": False},
        "kombu": {"level": "WARNING"},
    },
}
