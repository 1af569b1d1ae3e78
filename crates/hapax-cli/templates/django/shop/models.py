from django.db import models


class Payment(models.Model):
    event_id = models.TextField()
    amount = models.BigIntegerField()
