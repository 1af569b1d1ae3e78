"""The routes of the Django project. The views are in django_shop.views."""

from django.urls import path
from django_shop import views

urlpatterns = [
    path("webhooks/stripe", views.paid),
    path("webhooks/<str:tenant>/declines", views.declines),
    path("webhooks/fails", views.fails),
    path("flawed", views.flawed),
    path("reads-first", views.reads_first),
]
