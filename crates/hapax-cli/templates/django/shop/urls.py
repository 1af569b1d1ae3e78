from django.urls import path

from shop.views import paid, payments

urlpatterns = [
    path("webhooks/stripe", paid),
    path("payments", payments),
]
