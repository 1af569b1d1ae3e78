import json

from aiogram import Bot
from aiogram.types import Update
from aiogram.webhook.aiohttp_server import SimpleRequestHandler

LIBRARY = "aiogram"
# Nothing is signed.
TOKEN = "x-telegram-bot-api-secret-token"


def sign(event):
    user = {"id": 1, "is_bot": False, "first_name": "Ada"}
    message = {"message_id": 1, "from": user, "date": 1767225599, "chat": {"id": 1, "type": "private"}, "text": "hello"}
    return {"Content-Type": "application/json", TOKEN: event.secret}, json.dumps({"update_id": int(event.id), "message": message})


def verify(request, secret):
    bot = Bot("1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
    handler = SimpleRequestHandler(dispatcher=None, bot=bot, secret_token=secret)
    Update.model_validate_json(request.body)
    return handler.verify_secret(request.headers[TOKEN], bot) and isinstance(json.loads(request.body)["update_id"], int)
