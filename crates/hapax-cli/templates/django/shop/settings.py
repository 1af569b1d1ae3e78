import os
from pathlib import Path

from dotenv import load_dotenv

BASE_DIR = Path(__file__).resolve().parent.parent
load_dotenv(BASE_DIR / ".env")

# It signs nothing here: there are no sessions, and webhooks have signatures of their own.
SECRET_KEY = os.environ.get("DJANGO_SECRET_KEY", "only for development")
DEBUG = False
ALLOWED_HOSTS = os.environ.get("ALLOWED_HOSTS", "127.0.0.1,localhost,testserver").split(",")
ROOT_URLCONF = "shop.urls"
WSGI_APPLICATION = "shop.wsgi.application"
INSTALLED_APPS = ["hapax_webhooks.django", "shop"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True

if host := os.environ.get("POSTGRES_HOST"):
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "HOST": host,
            "NAME": "shop",
            "USER": "shop",
            "PASSWORD": os.environ["POSTGRES_PASSWORD"],
        }
    }
else:
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": BASE_DIR / "shop.db",
            # A transaction takes the lock when it begins, and waits for it.
            "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 5},
            # A file, since deliveries at the same moment come from several threads.
            "TEST": {"NAME": BASE_DIR / "test.db"},
        }
    }
