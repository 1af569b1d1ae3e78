"""The tests have a database of their own, and a secret of their own."""

import os
import tempfile

folder = tempfile.TemporaryDirectory()
os.environ["DATABASE_URL"] = f"sqlite:///{folder.name}/shop.db"
os.environ["STRIPE_WEBHOOK_SECRET"] = "whsec_test"
os.environ.pop("BEHIND_HAPAX", None)
