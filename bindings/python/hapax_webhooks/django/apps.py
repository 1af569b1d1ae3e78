"""The app. It has two tables and no models: the tables are Hapax's own."""

from django.apps import AppConfig


class HapaxWebhooksConfig(AppConfig):
    name = "hapax_webhooks.django"
    label = "hapax_webhooks"
    verbose_name = "Hapax webhooks"
