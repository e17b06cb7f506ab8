"""Concept tags: the few words of a text by which a person would file it, found without a model.

The method is that of nexo 3.3: protected terms, then compound tokens, then words, in the order of the text, up to eight. The word lists
are our own and keep words that people search for (memory, session, deploy, search).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Final

MOST: Final = 8
"""Maximum number of tags of one text."""

_LONGEST: Final = 32  # characters
_TOO_LONG: Final = 4 * _LONGEST  # maximum length in characters of a token with its edges
_LONGEST_CJK: Final = 10  # as many as fit into 32 bytes; a longer run without a space is a sentence
_READ: Final = 20_000  # maximum number of characters of a text that are parsed

_PROTECTED: Final = """
access control|access token|api key|audit log|autoscaling group|background job|batch job|blue green deployment|build pipeline
|bug fix|circuit breaker|code review|cold start|connection pool|content delivery network|continuous delivery|continuous integration
|cron job|data center|data pipeline|data warehouse|dead letter queue|deep learning|design review|disaster recovery|edge case
|embedding model|end to end|environment variable|error budget|event loop|feature flag|feature request|foreign key|full text search
|garbage collection|health check|hot fix|incident review|knowledge base|knowledge graph|language model|load balancer|load balancing
|load test|long term memory|machine learning|memory leak|merge conflict|merge request|message queue|neural network|open source
|operating system|out of memory|point in time recovery|post mortem|primary key|prompt injection|pull request|push notification
|race condition|rate limit|rate limiting|release notes|remote work|reverse proxy|root cause|service account|service level objective
|service mesh|short term memory|single sign-on|source code|stack trace|static analysis|status page|task queue|technical debt
|time series|time zone|type checker|unit test|user interface|vector database|vector index|version control|virtual machine|web hook
|aprendizaje automático|base de datos|control de versiones|copia de seguridad|código fuente|red neuronal|tiempo de espera
|apprentissage automatique|base de données|code source|sauvegarde|datenbank|künstliche intelligenz|maschinelles lernen|quellcode
|sicherungskopie|aprendizado de máquina|banco de dados|база данных|машинное обучение|резервная копия|исходный код
""".replace("\n", "")
_PROTECTED_CJK: Final = """
人工智能 机器学习 深度学习 神经网络 数据库 数据仓库 知识图谱 向量 索引 备份 恢复 部署 回滚 路由器 防火墙 负载均衡 缓存 日志 监控 告警
权限 令牌 密钥 接口 前端 后端 服务器 容器 集群 消息队列 代码审查 版本控制 資料庫 備份 防火牆 快取 伺服器
人工知能 機械学習 深層学習 データベース バックアップ 復元 デプロイ ロールバック ルーター ファイアウォール 負荷分散 キャッシュ ログ
監視 障害 権限 認証 サーバー コンテナ
데이터베이스 기계학습 머신러닝 딥러닝 백업 복구 배포 롤백 라우터 방화벽 캐시 로그 모니터링 인증 서버 컨테이너
"""

_ENGLISH: Final = """
a able about above absolutely across actually after again against ago all almost alone along already also although always am amazing
among an and another any anybody anyone anything anyway apart april are aren't around as ask asked asking asks at august away
awesome back be became because become been before began behind being below besides best better between big bit both bring but by bye
call called came can can't cannot come comes coming could couldn't day days december definitely did didn't different do does doesn't
doing don't done down during each eight either else enough especially even ever every everybody everyone everything exactly february
feel feeling feels felt few find fine first five for found four friday from further gave get gets getting give given gives glad go
goes going gone gonna good goodbye got great guess had half happen happened happens hard has hasn't have haven't having he he'd
he'll he's hello help helps hence her here hers herself hey hi him himself his hope hour hours how however hundred i i'd i'll i'm
i've if in indeed instead interested interesting into is isn't it it'd it'll it's its itself january july june just keep keeps kind
knew know known knows last lately later least left less let let's like liked likes little long look looked looking looks lot lots
made mainly make makes making many march may maybe me mean means meanwhile might mine minute minutes monday month months more
moreover most mostly much must my myself near nearly need needed needs neither never new next nice nine no nobody none nor not
nothing november now nowhere october of off often oh ok okay old on once one ones only onto or other others otherwise ought our ours
ourselves out over own part particular per perhaps please possible pretty probably put quite rather real really recently right said
same saturday saw say saying says second see seem seemed seems seen sent september set seven several shall she she'd she'll she's
should shouldn't show showed shown shows since six small so some somebody somehow someone something sometimes somewhere soon sorry
sort sound sounds still such sunday sure take taken takes taking talk talked tell ten than thank thanks that that's the their theirs
them themselves then there there's therefore these they they'd they'll they're they've thing things think thinking third this those
though thought thousand three through thursday thus time times to today together told tomorrow tonight too took toward tried tries
try trying tuesday turn turned two under unless until up upon us use used uses using usually various very via want wanted wants was
wasn't way ways we we'd we'll we're we've wednesday week weeks welcome well went were weren't what what's whatever when where
whether which while who who's whole whom whose why will wish with within without won't would wouldn't wow yeah year years yes
yesterday yet you you'd you'll you're you've your yours yourself
"""
_SPANISH: Final = """
a ahora al algo alguien algún alguna algunas alguno algunos allí ante antes aquel aquella aquellos aquí así aún aunque ayer bajo bien
cada casi como cómo con contra cosa cosas cual cuál cuando cuándo cuanto cuánto de del desde después día días donde dónde dos durante
e el él ella ellas ellos en entonces entre era eran eres es esa esas ese eso esos esta está están estar estas este esto estos estoy
fue fueron gracias ha había hace hacen hacer hacia han hasta hay he hizo hola hoy igual incluso ir jamás junto la las le les lo los
luego mal mañana más me mejor menos mi mí mientras mis misma mismo mucha muchas mucho muchos muy nada nadie ni ningún ninguna ninguno
no nos nosotros nuestra nuestro nuevo nunca o os otra otras otro otros para pero poco podemos poder podría por porque pronto puede
pueden pues que qué quien quién quiere quiero se sé sea según ser será si sí sido siempre sin sobre sólo solo somos son soy su sus
también tampoco tan tanto te tener tengo ti tiene tienen toda todas todavía todo todos tres tu tú tus un una unas uno unos usted
ustedes va vamos van vaya veces ver vez vosotros voy y ya yo lunes martes miércoles jueves viernes sábado domingo
"""
_SHARED: Final = """
com org net www http https html etc via vs eg ie cf re fwd cc bcc am pm utc gmt foo bar baz lorem ipsum todo tbd tba fyi asap btw imo
lol haha hmm uhm der die das und oder ist nicht ein eine mit von für auf den dem des zu im auch wir ich sie les des une est pas dans
pour sur avec vous nous que qui sont das dos uma com não para por pelo que il lo gli che non per con sono della het een van voor niet
です ます から まで という する した して
します しました できる できます できました なった なりました あります ありました ください
ました ません ある いる この その これ それ 我们 你们 他们 这个 那个 什么 没有 可以 因为 所以 但是
그리고 하지만 있는 하는 있다 우리 그것 это как что для или если только также который
"""
_EXTENSIONS: Final = """
txt md rst log csv tsv json jsonl yaml yml toml ini cfg conf env lock xml html htm css js jsx ts tsx mjs py pyc ipynb rb go rs java kt
c h cc cpp hpp cs php pl sh bash zsh bat ps1 sql db sqlite parquet arrow pdf doc docx xls xlsx ppt pptx odt png jpg jpeg gif svg webp
ico mp3 mp4 wav mov zip tar gz tgz bz2 xz 7z rar exe dll so whl deb rpm bak tmp
"""

_LETTERS: Final = re.compile(r"[^\W_]+")
_COMPOUND: Final = re.compile(r"(?<![^\W_])[^\W_]+(?:[._/\-][^\W_]+)+")
_WORD: Final = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff々]+|[\u3041-\u309f]+|[\u30a1-\u30ff]+|[\uac00-\ud7af]+"
    "|[^\\W_\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af々]+"
    "(?:['’][^\\W_\u3041-\u30ff\u3400-\u9fff\uac00-\ud7af]+)*"
)
_CJK: Final = re.compile("[\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af]")
_KANA: Final = re.compile("[\u3041-\u30ff]+")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}(?:\.[^\W_]+)?")
_EDGES: Final = re.compile(r"^\W+|\W+$")
_SENTENCES: Final = re.compile(r"[^\W\d_]*[a-zß-ÿ]\.[A-ZÀ-Þ][^\W\d_]*")  # a full stop without its space
_PARTICLES: Final = str.maketrans(
    dict.fromkeys("的了是在和与及或把被我你他她它们這这那嗎吗呢吧啊", " ")
)  # between Chinese words
_MACHINE: Final = 16  # a run of this many letters and digits is a key or a hash, not a concept
_KNOWN: Final = 65_536  # number of tokens whose tag is cached


def concept_tags(text: str, name: str = "") -> tuple[str, ...]:
    """Return up to eight distinct tags of a text and of its name, the name's first within each stage.

    Cost: three passes over at most 20,000 characters; words are processed until there are enough tags.
    """
    whole = unicodedata.normalize("NFKC", f"{name[:_READ]}\n{text[:_READ]}")
    found: dict[str, None] = {}
    for token in _tokens(whole):
        tag = concept(token)
        if tag is not None:
            found[tag] = None
            if len(found) == MOST:
                break
    return tuple(found)


@lru_cache(_KNOWN)
def concept(token: str) -> str | None:
    """Convert a token to a tag, or return None if it is no concept.

    The tag has compatibility forms folded, edges stripped, ``_`` and spaces as ``-``, and lower case. The following are no concepts:
    tokens of only digits and marks, days, stop words, keys and hashes, and tokens that are too short or too long (allowed are 3 to 32
    characters; 2 to 10 in Chinese, Japanese and Korean, and at least 3 for kana alone).
    """
    if len(token) > _TOO_LONG:
        return None
    tag = unicodedata.normalize("NFKC", token).strip("_").replace("_", "-").replace("’", "'").lower()
    tag = re.sub(r"\s+", "-", _EDGES.sub("", tag))
    stem, _, ending = tag.partition("'")
    tag = stem if ending == "s" else tag
    if _DAY.fullmatch(tag) or not any(c.isalpha() for c in tag):
        return None
    cjk = _CJK.search(tag) is not None
    least = 2 if cjk and not _KANA.fullmatch(tag) else 3
    if not least <= len(tag) <= (_LONGEST_CJK if cjk else _LONGEST):
        return None
    parts = re.split(r"[./\-]", tag)
    if tag in _stop_words() or all(len(p) < 2 or p in _stop_words() or p.isdigit() for p in parts):
        return None
    return None if any(_is_key(p) for p in parts) else tag


def _tokens(text: str) -> Iterator[str]:
    """Yield candidates stage by stage; a later stage does not see the text that an earlier one took."""
    spans = _protected(text)
    yield from (text[a:b] for a, b in spans)
    text = _without(text, spans)
    spans = [m.span() for m in _COMPOUND.finditer(text) if not _SENTENCES.fullmatch(m[0])]
    yield from (text[a:b] for a, b in spans)
    text = _without(text, spans)
    if not text.isascii() and not _KANA.search(text):
        text = text.translate(_PARTICLES)
    for match in _WORD.finditer(text):
        yield match[0]


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """Replace the spans by spaces."""
    for start, end in spans:
        text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
    return text


def _is_key(part: str) -> bool:
    return len(part) >= _MACHINE and not part.isdigit() and any(c.isdigit() for c in part)


def _protected(text: str) -> list[tuple[int, int]]:
    """Return the spans of protected terms: the first to begin, and of these the longest.

    Only terms whose first word occurs in the text are searched, because few texts have any.
    """
    terms = _terms()
    found = [
        m.span() for word in terms.keys() & set(_LETTERS.findall(text.lower())) for m in terms[word].finditer(text)
    ]
    if not text.isascii():
        found += [m.span() for m in _runs().finditer(text)]
    kept: list[tuple[int, int]] = []
    for start, end in sorted(found, key=lambda span: (span[0], -span[1])):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


@cache
def _terms() -> dict[str, re.Pattern[str]]:
    """Return a pattern of protected terms by first word, longest first, with word boundaries."""
    by_word: dict[str, list[str]] = {}
    for term in sorted(_PROTECTED.split("|"), key=lambda t: (-len(t), t)):
        by_word.setdefault(_LETTERS.findall(term)[0], []).append(r"[\s\-]+".join(map(re.escape, term.split())))
    return {w: re.compile(rf"(?<!\w)(?:{'|'.join(terms)})(?!\w)", re.IGNORECASE) for w, terms in by_word.items()}


@cache
def _runs() -> re.Pattern[str]:
    """Return the pattern of protected terms in scripts without spaces, longest first."""
    return re.compile("|".join(sorted(set(_PROTECTED_CJK.split()), key=lambda t: (-len(t), t))))


@cache
def _stop_words() -> frozenset[str]:
    return frozenset(f"{_ENGLISH} {_SPANISH} {_SHARED} {_EXTENSIONS}".split())
