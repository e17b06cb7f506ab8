"""The lexicon of English: whether a word is known, which tells a slip from another word."""

from __future__ import annotations

import gzip
import unicodedata
from bisect import bisect_left
from functools import lru_cache
from importlib.resources import files
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slowwave.text.words import words_of

# English lexicon: whether a word is English. Two words of the lexicon are never slips of each other.
#
# The list is SCOWL 2020.12.07 to level 80, with American and British spellings together: lower case, without accents and possessives, words
# of four letters and more. ``english_words.LICENSE`` contains its copyright notices. It is extended by a few hundred terms of computing.

SHORTEST: Final = 4
"""Minimum length in letters of a word in the list."""

_LEAST: Final = 5  # letters of each part of a compound; many mistyped words split into shorter parts
_ASKED: Final = 65_536  # cached words


@lru_cache(maxsize=_ASKED)
def is_word(word: str) -> bool:
    """Return whether a folded word is in the list, with or without its accents.

    The first call loads the list: about 20 ms and 4 MB. Each new word takes a binary search, 10 µs.
    """
    if word in TERMS:
        return True
    wanted = word.encode() if word.isascii() else _plain(word)
    if len(wanted) < SHORTEST:
        return False
    words = _words()
    at = bisect_left(words.starts, wanted, key=words.at)
    return at < len(words.starts) and words.at(words.starts[at]) == wanted


@lru_cache(maxsize=_ASKED)
def is_known(word: str) -> bool:
    """Return whether a text is a word or made of words.

    This is a word after a prefix ("reindexing") or before an ending ("sharding"), or two words in one ("stacktrace").
    """
    if is_word(word):
        return True
    if any(_ends(word, e) for e in ENDINGS):
        return True
    if any(word.startswith(p) and is_word(word[len(p) :]) for p in PREFIXES if len(word) - len(p) >= _LEAST):
        return True
    return any(is_word(word[:cut]) and is_word(word[cut:]) for cut in range(_LEAST, len(word) - _LEAST + 1))


def _ends(word: str, ending: str) -> bool:
    """Return whether a text is a word before an ending, and not one that doubles its last letter there ("begining")."""
    stem = word.removesuffix(ending)
    return len(stem) < len(word) and len(stem) >= _LEAST and is_word(stem) and not is_word(stem + stem[-1] + ending)


class _Words(NamedTuple):
    """Words in order, a line each, and where each begins."""

    text: bytes
    starts: NDArray[np.int32]

    def at(self, start: int) -> bytes:
        """Return the word that begins at ``start``."""
        return self.text[start : self.text.index(b"\n", start)]


@lru_cache(maxsize=1)
def _words() -> _Words:
    text = gzip.decompress(files("slowwave.text").joinpath("english_words.txt.gz").read_bytes())
    ends = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    return _Words(text, np.concatenate([[0], ends[:-1] + 1]).astype(np.int32))


def _plain(word: str) -> bytes:
    return "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)).encode()


TERMS: Final = words_of("""
adblock airflow ansible apache api args async auth autoscale avro aws axios azure backend backoff base64 bash bigquery bitbucket bool
boolean bugfix cassandra celery changelog checksum chmod chown chromium cicd cli clickhouse cloudflare codebase config configs consul
cors cpu cron crontab css csv dagster databricks datadog dataframe dataset datetime dbt debian debug deduplicate deduplication dev
devops dict django dns docker dockerfile duckdb dynamodb ebpf elasticsearch emacs embeddings enum env eslint etcd fastapi fedora figma
filename filesystem firefox flask flink frontend fsync git github gitlab golang grafana graphql grpc gunicorn gzip hadoop hashmap hdfs
heroku hostname html http https hyperparameter ide idempotent iframe influxdb init inode ints iterable java javascript jenkins jinja
jira json jsonb jupyter kafka kanban keras keycloak keymap kibana kotlin kubectl kubernetes lambda linux localhost login logout macos
makefile mariadb markdown matplotlib memcached metadata microservice middleware minio mixin mongodb monorepo mutex mysql namespace nats
neovim netlify nginx nodejs npm nullable numpy oauth oncall openai openapi opensearch oracle orm pandas param params parquet parser
payload pgbouncer pgvector pinecone plugin podman polars popup postgres postgresql postmortem pprof prometheus protobuf proxy pubsub
pydantic pylint pypi pyright pytest python pytorch qdrant quickstart rabbitmq react readme redis redshift redux regex repo reranker
rollback rollout runbook runtime rust sandbox scala schema sdk selenium semver sharding sidecar signup slack snowflake spark sqlalchemy
sqlite ssh ssl stacktrace startup stderr stdin stdout struct subdomain subnet subprocess sudo supabase superuser svelte symlink synapse
sysadmin systemd tailwind teardown tensorflow terraform timeout timestamp tls tmux todo tokenizer toml tooltip traceback tuple
typescript ubuntu udp uptime url urls username utf uuid valkey varchar venv vercel vite vpn vue wasm webhook webpack websocket wheel
whitelist wildcard windows workflow xml yaml yarn zookeeper zsh
""")
"""Terms of computing that the list lacks, most of them names of software."""

ENDINGS: Final = tuple(sorted(words_of("s ed ing er ers ness less ship like wise")))
"""Endings that make another form of a word."""

PREFIXES: Final = tuple(
    sorted(
        words_of("""
        ante anti arch auto back bi bio centi circum co contra counter cross cyber de deci deca demi di dis down eco electro em en endo
        epi eu ex exo extra fore geo giga gyro hecto hemi hetero homo hydro hyper hypo il im immuno in infra inter intra intro ir iso
        kilo macro mal mega meta micro mid milli mini mis mono multi nano neo neuro non off omni on ortho out over para per peri photo
        physio pico poly post pre pro proto pseudo psycho quadri quasi radio re retro self semi socio step sub super supra sur tele
        tetra thermo trans tri turbo ultra un under uni up vice
        """)
    )
)
"""Prefixes that make another word of a word."""
