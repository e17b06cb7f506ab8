"""Secrets and what only looks like one, put together at run time: no whole token stands in this file."""

from __future__ import annotations

import string
from collections.abc import Iterator
from random import Random

LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


class Maker:
    """Draws characters, always the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def some(self, n: int, of: str = LETTERS) -> str:
        """``n`` characters, a digit and letters of both cases among them where there are such."""
        drawn = [self._random.choice(of) for _ in range(n)]
        for place, kind in enumerate((string.digits, string.ascii_lowercase, string.ascii_uppercase), 1):
            common = [c for c in kind if c in of]
            if common and n > 6:
                drawn[place * n // 4] = self._random.choice(common)
        return "".join(drawn)


def secrets_of(seed: int) -> Iterator[tuple[str, str]]:
    """(rule, text with one secret of it)."""
    some = Maker(seed).some
    upper = string.ascii_uppercase + "234567"
    begin, end = "-----BEGIN RSA PRIV" + "ATE KEY-----", "-----END RSA PRIV" + "ATE KEY-----"
    yield "aws access key", f"the key is AKI{'A'}{some(16, upper)} for now"
    yield "aws secret key", f"aws_secret_access_key = {some(40)}"
    yield "google api key", f"AIz{'a'}{some(35)}"
    yield "azure storage key", f"AccountName=x;AccountKey={some(86)}=="
    yield "github token", f"use ghp{'_'}{some(36)} to clone"
    yield "github token", f"github_{'pat'}_{some(82)}"
    yield "gitlab token", f"glpa{'t'}-{some(20)}"
    yield "slack token", f"xox{'b'}-{some(12, string.digits)}-{some(12, string.digits)}-{some(24)}"
    yield "stripe key", f"sk_{'live'}_{some(24)}"
    yield "openai key", f"sk-{'None'}-{some(48)}"
    yield "openai project key", f"sk-{'proj'}-{some(48)}"
    yield "anthropic key", f"sk-{'ant'}-api03-{some(93)}AA"
    yield "hugging face token", f"hf{'_'}{some(34, string.ascii_letters)}"
    yield "npm token", f"npm{'_'}{some(36)}"
    yield "pypi token", f"pypi-{'AgE'}IcHlwaS5vcmc{some(80)}"
    yield "twilio key", f"S{'K'}{some(32, HEX)}"
    yield "sendgrid key", f"S{'G'}.{some(22)}.{some(43)}"
    yield "mailgun key", f"ke{'y'}-{some(32, HEX)}"
    yield "discord token", f"M{some(23)}.{some(6)}.{some(27)}"
    yield "telegram token", f"bot {some(10, string.digits)}:AA{some(33)}"
    yield "fly token", f"fm2{'_'}{some(160)}=="
    yield "clickhouse key", f"4b1{'d'}{some(38)}"
    yield "harness token", f"pa{'t'}.{some(22)}.{some(24)}.{some(20)}"
    yield "authress key", f"sc{'_'}{some(20)}.{some(5)}.acc-{some(16)}.{some(60)}"
    yield "42 secret", f"s-s4t2{'ud'}-{some(64, HEX)}"
    yield "maxmind key", f"{some(6)}_{some(29)}_mm{'k'}"
    yield "settlemint token", f"sm_{'pat'}_{some(16)}"
    yield "facebook token", f"{some(15, string.digits)}|{some(27)}"
    yield "private key", f"{begin}\n{some(64)}\n{some(64)}\n{end}"
    yield "json web token", f"eyJ{'hbGciOiJIUzI1NiJ9'}.eyJzdWIiOiJhIn0.{some(43)}"
    yield "url with password", f"postgres://app:{some(12)}@db.internal:5432/app"
    yield "password", f"Server=db;User Id=x;Password={some(12)};"
    yield "password", f"my password is {some(9)}!"
    yield "password", f"The password for the router is {some(8)}."
    yield "password", f"PGPASSWORD={some(10)} psql"
    yield "password", f"Passwort: {some(10)}"
    yield "password", f"contraseña: {some(10)}"
    yield "key or token", f'"api_key": "{some(32)}"'
    yield "key or token", f"API key: {some(32, HEX)}"
    yield "key or token", f"client_secret={some(30)}"
    yield "key or token", f"the token for the bot is {some(30)}"
    yield "authorization header", f"Authorization: Bearer {some(40)}"
    yield "password on a command line", f"curl -u admin:{some(10)} https://example.org"


def harmless_of(seed: int) -> Iterator[str]:
    """What a careless rule calls a secret."""
    some = Maker(seed).some
    yield f"AKI{'A'}IOSFODNN7EXAMPLE is the key of the manual"
    yield "api_key = <your-key>"
    yield "api_key=xxxxxxxxxxxxxxxx"
    yield "token: $TOKEN"
    yield "password = os.environ['DB_PASSWORD']"
    yield "password: ${DB_PASS}"
    yield "password: {{ vault_password }}"
    yield "token = get_token(user, 42)"
    yield "secret = config.secret_1"
    yield f"id {some(8, HEX)}-{some(4, HEX)}-4{some(3, HEX)}-a{some(3, HEX)}-{some(12, HEX)}"
    yield f"commit {some(40, HEX)}"
    yield f'"integrity": "sha512-{some(86)}=="'
    yield f"checksum: {some(64, HEX)}"
    yield f'ETag: "{some(32, HEX)}"'
    yield f"data:image/png;base64,iVBORw0KGgo{some(200)}"
    yield f"password_hash: $2b$12${some(53)}"
    yield f"ssh-rsa AAAAB3NzaC1yc2E{some(200)} me@host"
    yield f"pk_{'live'}_{some(24)} goes into the page"
    yield f"csrf_token = {some(32)}"
    yield f"cache_key=user:1234:{some(16, HEX)}"
    yield "My password is the name of my cat"
    yield "I forgot my password again, the token is expired"
    yield "password must be at least 8 characters"
    yield "max_tokens: 4096, tokens: 1500"
    yield "The key is to practice daily for 30days"
    yield "passwordResetTokenExpiryInMinutes=30"
    yield "getUserAuthenticationTokenProviderFactory2"
    yield "postgres://user:password@localhost/db"
    yield "postgres://user:${PW}@host/db, redis://localhost:6379"
    yield "https://example.com:8080/a@b"
    yield "Password: ********"
    yield "order 4111 1111 1111 1111 is for tests"
    yield "key: release-2024-01-token-cache"
    yield "secret santa: Bob2, our secret: 2 cups of flour"
