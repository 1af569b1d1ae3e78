"""The tests have a secret of their own."""

import os

os.environ["STRIPE_WEBHOOK_SECRET"] = "whsec_test"
os.environ.pop("BEHIND_HAPAX", None)
