"""Names in the forms that are compared: nicknames, other alphabets, and the best name for merged rows."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slowwave.text.lexicon import is_known
from slowwave.text.names import is_given
from slowwave.text.slips import near, respelt

# Short forms of given names and their formal names: the common ones, written by hand.

_ENGLISH: Final = """
abigail: abby abbie gail | abraham: abe | adelaide: addie heidi | adeline: addie | agnes: aggie nessie | alan: al | albert: al bert bertie
alexander: alex al sandy alec lex xander | alexandra: alex sandra lexi sasha | alfred: alf fred alfie | alice: allie ally
alison: allie ally ali | allan: al | amanda: mandy manda | amelia: amy millie | andrew: andy drew | angela: angie ange
ann: annie nan nancy | anna: annie ann | annabel: bella | anne: annie nan nancy | anthony: tony ant | antoinette: toni nettie
antonia: toni | archibald: archie | arnold: arnie | arthur: art artie | august: gus augie | augusta: gussie | augustus: gus
barbara: barb babs barbie | bartholomew: bart | beatrice: bea trixie | belinda: linda bel | benedict: ben | benjamin: ben benny benji
bernadette: bernie | bernard: bernie barney | bertram: bert | beverley: bev | beverly: bev | bradford: brad | bradley: brad
brandon: bran | brenda: bren | bridget: bridie biddy | caleb: cal | calvin: cal | cameron: cam | camilla: milly | candace: candy
carolina: carol carrie lina | caroline: carrie carol caro | carolyn: carol carrie lynn | cassandra: cass cassie sandra
catherine: cathy kate cat katie kitty cath | cecil: cec | cecilia: cissy celia | charles: charlie chuck chas charley
charlotte: lottie charlie lotte | chester: chet | christian: chris | christina: chris tina chrissy christy
christine: chris tina chrissy christy | christopher: chris kit topher kris | clarence: clare | clement: clem | clifford: cliff
clifton: cliff | clinton: clint | constance: connie | cordelia: delia | cornelius: con neil | curtis: curt | cynthia: cindy
daniel: dan danny | danielle: dani | darren: daz | david: dave davy davey | deborah: deb debbie debby | delbert: del | denise: dee
dennis: den denny | derek: del | diana: di | diane: di | dolores: lola | dominic: dom nick | donald: don donnie | dorothea: dora thea dot
dorothy: dot dottie dolly | douglas: doug dougie | duncan: dunc | dwight: ike | ebenezer: eben | edgar: ed eddie | edith: edie
edmund: ed eddie ted ned | edward: ed eddie ted ned teddy | edwin: ed eddie | edwina: winnie | elaine: lainie
eleanor: nell ellie nora nellie | eleanora: nora | elijah: eli | eliza: liz
elizabeth: liz beth betty eliza betsy bess lizzie libby lisa bessie liza lizbeth | ellen: nell nellie | elliot: el | emanuel: manny
emily: em emmy millie | emma: em | eric: rick | erica: ricky | ernest: ernie | esther: essie hettie | ethel: eth | eugene: gene
eugenia: gena | evelyn: eve evie | ezekiel: zeke | ezra: ez | felicity: fliss flick | ferdinand: ferdy | fletcher: fletch
florence: flo florrie flossie | frances: fran fanny frankie | francesca: fran | francis: frank fran | franklin: frank | frederica: freda
frederick: fred freddy rick freddie | gabriel: gabe | gabriella: gabby ella | gabrielle: gabby elle | geoffrey: geoff jeff
george: geordie | georgia: georgie | georgina: georgie gina | gerald: gerry jerry | geraldine: gerry | gerard: gerry
gertrude: gertie trudy gert | gilbert: gil | gillian: jill gill | gordon: gordy | grace: gracie | graham: gray | gregory: greg
gretchen: greta | griffith: griff | guinevere: gwen jennifer | gwendoline: gwen | gwendolyn: gwen wendy | hannah: nan | harold: hal harry
harriet: hattie harry | harrison: harry | harvey: harv | hazel: haze | helen: nell nellie | helena: lena | henrietta: hettie etta hattie
henry: harry hank hal | herbert: herb bert | herman: harm | hezekiah: hez | hilary: hil | horace: horry | howard: howie | hubert: hugh
hugh: huey hughie | humphrey: hump | ignatius: iggy | immanuel: manny | irene: rena | isaac: ike zac | isabel: bel bella izzy belle
isabella: bella izzy belle | isabelle: belle | isadora: dora | isidore: izzy | israel: izzy | jacob: jake jakob
jacqueline: jackie jacqui | james: jim jimmy jamie jem jimmie | jane: janie jenny | janet: jan | janice: jan | jason: jay | jasper: jas
jean: jeanie | jeanette: jean nettie | jedediah: jed | jefferson: jeff | jeffrey: jeff | jemima: mima | jennifer: jen jenny jenn
jeremiah: jerry jem | jeremy: jerry jem | jerome: jerry | jessamine: jessie | jesse: jess | jessica: jess jessie | joan: joanie
joanna: jo joan | joanne: jo | jocelyn: joss | joel: joe | john: jack johnny jon jock | jonathan: jon jonny nathan | joseph: joe joey jo
josephine: jo josie | joshua: josh | josiah: joe | joyce: joy | juanita: nita | judith: judy jude | julia: jules julie | julian: jules
juliet: jules | julius: jules | justin: jus | karen: kaz | katherine: kathy kate kat katie kitty kath | kathleen: kathy kath kay
kathryn: kathy kate kat katie kath | kenneth: ken kenny | kevin: kev | kimberley: kim | kimberly: kim kimmy | kirsten: kirsty
kristen: kris | kristina: kris tina | lancelot: lance | laura: laurie | lauren: laurie | laurence: larry laurie | lavinia: vinnie
lawrence: larry laurie lawrie | leander: lee | leonard: len leo lenny leon | leonora: nora | leopold: leo | leroy: roy lee | leslie: les
lester: les | letitia: letty | lewis: lew | lillian: lily lil lilly | linda: lindy | lionel: leo | lorraine: lori | louis: lou louie
louisa: lou | louise: lou | lucas: luke | lucille: lucy | lucinda: lucy cindy | lucretia: lucy | luther: lu | lydia: liddy | lyndon: lyn
mabel: mae | madeleine: maddie maddy | madeline: maddie maddy | magdalena: lena magda | malcolm: mal | marcella: marcy | marcia: marcy
marcus: marc mark | margaret: maggie meg peggy marge greta daisy margie rita madge mags peg | margery: marge | maria: mary ria
marian: mary | marilyn: mary | marjorie: marge margie | marshall: marsh | martha: marty mattie patty | martin: marty | martina: tina
marvin: marv | mary: molly polly mamie may | matilda: tilda tilly mattie maud | matthew: matt matty | maureen: mo
maurice: maury morris mo | maximilian: max | maxine: max | maxwell: max | melanie: mel | melinda: mindy | melissa: mel lissa missy
melvin: mel | mercedes: mercy | mervyn: merv | michael: mike mick mickey micky mikey | michelle: shelly chelle | mildred: millie milly
millicent: millie milly | milton: milt | minerva: minnie | miranda: mandy randy | miriam: mimi | mitchell: mitch | mohammed: mo
montague: monty | montgomery: monty | mortimer: mort | moses: mose | muhammad: mo | myron: ron | nancy: nan | natalie: nat
nathan: nat nate | nathaniel: nate nat nathan | neil: neal | nelson: nels | newton: newt | nicholas: nick nicky nic | nicola: nicky nikki
nicole: nicky nikki | norma: normie | norman: norm | octavia: tavia | oliver: ollie noll | olivia: liv livvy ollie | oscar: ozzie
oswald: ozzie oz | pamela: pam | patience: pat | patricia: pat trish patty tricia patsy trisha | patrick: pat paddy rick | paul: paulie
paula: polly | pauline: polly | penelope: penny nell | percival: percy | peter: pete | philip: phil pip | philippa: pip pippa
phillip: phil pip | phineas: phin | phoebe: phebe | phyllis: phyl | priscilla: prissy cilla | prudence: prue | quentin: quin
rachel: rach rae | ralph: rafe | randall: randy rand | randolph: randy dolph | raymond: ray | rebecca: becky becca beck | regina: gina
reginald: reg reggie rex | reuben: rube | rhoda: rho | richard: rick dick rich ricky | richie dickie | richmond: rich
robert: bob rob bobby robbie bert robin | roberta: bobbie | roderick: rod rory | rodney: rod | roger: rodge | roland: roly rollo
ronald: ron ronnie ronny | rosalie: rose | rosalind: roz rose | rosamund: roz | roseanne: rose | rosemary: rose rosie | rowland: roly
rudolph: rudy rolf | rufus: rufe | rupert: rupe | russell: russ rusty | ruth: ruthie | sabrina: brina | sally: sal | salvatore: sal
samantha: sam sammy | samson: sam | samuel: sam sammy | sandra: sandy | sarah: sally sadie sal | sebastian: seb bastian | selina: lina
serena: rena | seymour: sy | sharon: shaz | sheldon: shel | shirley: shirl | sidney: sid syd | sigmund: sig | silas: si | silvester: sly
simeon: sim | simon: si | solomon: sol | sophia: sophie sophy | spencer: spence | stacey: stace | stanley: stan | stephanie: steph stevie
stephen: steve stevie | steven: steve stevie | stewart: stew stu | stuart: stu stew | susan: sue susie suzy | susanna: sue susie
susannah: sue susie | suzanne: sue suzy | sylvester: sly | sylvia: syl | tabitha: tabby | terence: terry | teresa: terry tess tessa
theodora: dora thea | theodore: ted theo teddy | theresa: terry tess tessa | thomas: tom tommy thom | tiffany: tiff | timothy: tim timmy
tobias: toby | travis: trav | tristan: tris | ursula: ursie | valentine: val | valerie: val | vanessa: nessa | vernon: vern
veronica: ronnie ronny | victor: vic | victoria: vicky tori vic vicki | vincent: vince vinny | violet: vi | virgil: virge
virginia: ginny ginger | vivian: viv | wallace: wally | walter: walt wally wat | warren: waz | wendell: del | wesley: wes | wilbur: will
wilfred: wilf fred | wilhelmina: mina minnie billie | willard: will | william: bill will billy willie liam wills willy
winifred: winnie freda | winston: win | woodrow: woody | xavier: xav | yolanda: yoli | yvonne: vonnie | zachariah: zach zack
zachary: zach zack zac | zebulon: zeb
"""
_OTHERS: Final = """
alejandro: alex jandro ale | aleksandr: sasha sanya shura | aleksandra: sasha shura | alessandro: ale sandro | alexei: alyosha
alfonso: poncho fonso | anastasia: nastya stasia | andreas: andi | angelika: geli | annika: anni | antonio: tonio toni nino
bartolomeo: meo | beatriz: bea | bernhard: bernd hardy | boris: borya | carlos: carlitos | carmela: carmen | christoph: stoph
concepcion: concha conchita | consuelo: chelo | daniela: dani | diego: santiago | dietrich: dieter | dmitri: dima mitya
dmitry: dima mitya | dolores: lola lolita | domenico: mimmo nico | eduardo: edu lalo | ekaterina: katya | elena: lena lenka | emilio: milo
enrique: quique kike | ernesto: neto | evgeni: zhenya | evgeny: zhenya | federico: fede | felipe: pipe | fernando: nando fer
filippo: pippo | francesco: ciccio franco cesco | francisca: paca paquita | francisco: paco pancho curro | franziska: franzi
friedrich: fritz fred | fyodor: fedya | gabriela: gabi | gerhard: gerd | giovanni: gianni nino vanni | giuseppe: beppe peppe pino
gregorio: goyo | grigory: grisha | guadalupe: lupe lupita | guillermo: memo guille | gustavo: gus tavo | heinrich: heinz heiner
hendrik: henk rik | ignacio: nacho | igor: gosha | ilya: ilyusha | irina: ira | isabel: chabela | ivan: vanya | jacobus: koos jaap
jesus: chucho chuy | johann: hans | johanna: hanna hanne | johannes: hans jan hannes joop | jorge: coque | jose: pepe | josef: sepp jupp
josefa: pepa | juan: juanito | julio: julito | konstantin: kostya | leonid: lyonya | lorenzo: renzo enzo | lucia: luz | luigi: gigi gino
luis: lucho | lyudmila: lyuda mila | manuel: manolo manny manu | margarethe: grete gretel | margarita: rita | maria: masha mascha
marina: ira | matthias: matze hias | mercedes: merche | miguel: mike miki | mikhail: misha | montserrat: montse | nadezhda: nadya
natalia: natasha nata | nicolas: nico | nikolai: kolya | olga: olya | pavel: pasha | pedro: perico | petrus: piet | pilar: pili
pyotr: petya | rafael: rafa | ramon: moncho | ricardo: rico richi | roberto: beto tito | roman: roma | rosario: charo | salvador: chava
sebastian: basti | sergei: seryozha | sergey: seryozha | sergio: checo | siegfried: sigi | stanislav: stas | stefania: stefi
svetlana: sveta | tatiana: tanya | teodoro: teo | ulrich: uli | ulrike: uli | vicente: chente | viktor: vitya | vincenzo: enzo
vladimir: vova volodya vlad | vladislav: vlad slava | vyacheslav: slava | wilhelm: willi | wojciech: wojtek | wolfgang: wolf
yekaterina: katya | yelena: lena | yevgeny: zhenya | yuri: yura
"""


def _read(*tables: str) -> dict[str, tuple[str, ...]]:
    formal: dict[str, list[str]] = {}
    for entry in "|".join(tables).replace("\n", "|").split("|"):
        name, _, shorts = entry.strip().partition(":")
        for short in shorts.split():
            names = formal.setdefault(short, [])
            if name not in names:
                names.append(name)
    full = {name for names in formal.values() for name in names}
    return {short: (*([short] if short in full else []), *names) for short, names in formal.items()}


FORMAL: Final = _read(_ENGLISH, _OTHERS)
"""Short form → the formal names that it may represent, itself first if it is one (Jennifer is short for Guinevere as well)."""


# Transliteration to Latin letters for alphabets whose letters represent sounds: Cyrillic, Greek, and Latin letters beyond a to z.
#
# Scripts whose letters share sounds or omit vowels (Chinese, Arabic, Hebrew, …) are left unchanged, because two names would become equal.
# Written by hand after the usual English transcriptions (BGN/PCGN, ELOT 743).

_COMPOSED: Final = "й y  ё yo  ї yi  ў u  ѓ gj  ќ kj"
_CYRILLIC: Final = """
а a  б b  в v  г g  ґ g  ғ g  д d  ђ dj  е e  є ye  ж zh  з z  ѕ dz  и i  і i  ј j  к k  қ k  л l  љ lj  м m  н n  њ nj  ң ng
о o  ө o  п p  р r  с s  т t  ћ c  у u  ү u  ұ u  ф f  х kh  һ h  ц ts  ч ch  џ dz  ш sh  щ shch  ъ -  ы y  ь -  э e  ю yu  я ya
"""
_GREEK: Final = """
α a  β v  γ g  δ d  ε e  ζ z  η i  θ th  ι i  κ k  λ l  μ m  ν n  ξ x  ο o  π p  ρ r  σ s  τ t  υ y  φ f  χ ch  ψ ps  ω o
"""
_LATIN: Final = "ø o  æ ae  œ oe  ł l  đ d  ð d  þ th  ı i  ħ h  ŋ ng  ə e  ŧ t  ’ '"


def _table(letters: str) -> dict[int, str]:
    parts = letters.split()
    return {ord(a): b.strip("-") for a, b in zip(parts[::2], parts[1::2], strict=True)}


_BEFORE: Final = _table(_COMPOSED)
_AFTER: Final = _table(_CYRILLIC + _GREEK + _LATIN)


def latin(text: str) -> str:
    """Case-fold a text, remove accents, and transliterate alphabets that have Latin equivalents."""
    text = unicodedata.normalize("NFKC", text).casefold().translate(_BEFORE)  # й is a letter, not an accented и
    text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return text.replace("ου", "ou").translate(_AFTER)


# Names in the forms that are compared, as arrays: one row per entity, one integer per form.
#
# Equal integers mean equal forms, so pairs are compared without strings. ``slowwave.matching.candidates`` chooses the forms that make a
# candidate pair; ``slowwave.matching.weights`` learns the weight of agreement.

Codes = NDArray[np.int64]
"""Interned strings; -1 if a row lacks the form."""
Flags = NDArray[np.bool_]

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*[+#]{0,2}")
_LEGAL: Final = frozenset(
    (
        *("inc", "incorporated", "ltd", "limited", "llc", "llp", "lp", "plc", "corp", "corporation", "co", "company"),
        *("gmbh", "ag", "kg", "kgaa", "se", "sa", "sas", "sarl", "srl", "spa", "bv", "nv", "oy", "oyj", "ab", "as"),
        *("aps", "pty", "pte", "kk", "phd", "esq"),
    )
)
_TITLES: Final = frozenset(("mr", "mrs", "ms", "miss", "mx", "dr", "prof", "professor", "sir", "the"))
_LAST: Final = frozenset(("jr", "sr", "ii", "iii", "iv", "phd", "md", "esq"))
"""Suffixes of a name after a second comma."""
_SMALL: Final = frozenset(("of", "the", "and", "for", "de", "la", "di", "von", "van", "in", "on", "to", "a"))
UNNAMED: Final = _LEGAL | _TITLES | _LAST | _SMALL
"""Words of a name that identify nobody: titles, legal forms, ranks in a family, small words."""

LONGEST: Final = 200
"""Maximum length in letters of names that are compared letter by letter. Longer ones are prose and match only if a form is equal."""

_NICKNAMES: Final = 4
_ENDS: Final = 5  # maximum number of words of a name that its first and last word can represent
_UPPER: Final = 0.05  # share of names with a capital below which a namespace counts as written in lower case


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """The forms of n names; all code arrays are (n,) unless noted.

    - ``plain``: folded, with "Last, First" turned round.
    - ``compact``: without spaces, titles or legal forms.
    - ``ordered``: words sorted.
    - ``short``: ``compact`` if the name or its first word may be an acronym.
    - ``acronym`` (n, 3): initials of its words, with and without small words, and of all but the last; -1 if no name has that ``short``.
    - ``nickname`` (n, 4): the name with its first word in formal form.
    - ``initial``: first letter and last word of two-part names; ``abbreviated``: whether the first word is only that letter.
    - ``family``: first letter of the first and whole last word of any name of several words ("Smith J" is parsed as "J Smith");
      ``lettered``: whether a given name is only a letter.
    - ``ends``: whole first and last word of names of up to five words.
    - ``length``: the number of letters of ``compact``.
    - ``folded`` and ``squeezed``: the texts of ``plain`` and ``compact``.
    """

    folded: NDArray[np.object_]
    squeezed: NDArray[np.object_]
    plain: Codes
    compact: Codes
    ordered: Codes
    short: Codes
    acronym: Codes
    nickname: Codes
    initial: Codes
    abbreviated: Flags
    family: Codes
    lettered: Flags
    ends: Codes
    length: Codes


def fold(text: str) -> str:
    """Fold a text to lower case without accents or punctuation, with words separated by one space.

    Letters of other alphabets become Latin if the alphabet has a transliteration; "+" and "#" stay ("C++", "C#"). A text without words
    keeps its characters.
    """
    return _words(text) or " ".join(text.casefold().split())


def fold_all(texts: pa.Array) -> pa.Array:
    """Fold every text as ``fold`` does; each distinct token is folded once."""
    lists = pc.utf8_split_whitespace(texts)
    tokens = pc.list_flatten(lists).dictionary_encode()
    folded = pa.array([_words(t) for t in tokens.dictionary.to_pylist()], pa.string())
    stated = pc.not_equal(folded, "").take(tokens.indices)
    ends = np.concatenate([[0], np.cumsum(stated.to_numpy(zero_copy_only=False))])[lists.offsets.to_numpy()]
    joined = _join(ends, folded.take(tokens.indices.filter(stated)), " ")
    bare = ends[1:] == ends[:-1]
    if not bare.any():
        return joined
    given = pa.array([fold(t) for t in texts.filter(pa.array(bare)).to_pylist()], pa.string())
    return pc.replace_with_mask(joined, pa.array(bare), given)


def prepare(names: Sequence[str]) -> Names:
    """Compute the forms of names.

    Arrays are used throughout, except for distinct words and names with a comma: about 5 µs per distinct name.
    """
    coded = pa.array(names, pa.string()).dictionary_encode()
    raw, inverse = coded.dictionary, coded.indices.to_numpy()
    plain = fold_all(_turned(raw))
    words = _Words.from_texts(plain)
    core = words.core()
    compact = core.join("")
    numbered = compact.dictionary_encode()
    compacts = _codes(numbered)
    short = np.where(_may_be_short(raw, words, compact), compacts, -1)
    letters = np.unique(short[short >= 0])
    acronyms = [_look_up(a, numbered.dictionary.take(pa.array(letters)), letters) for a in core.acronyms()]
    nicknames = _codes(pa.concat_arrays(core.formal()).dictionary_encode()).reshape(_NICKNAMES, -1).T
    initial, abbreviated = core.initial()
    family, lettered, both = core.family()
    return Names(
        folded=_objects(plain)[inverse],
        squeezed=_objects(compact)[inverse],
        plain=_codes(plain.dictionary_encode())[inverse],
        compact=compacts[inverse],
        ordered=_codes(core.ordered().dictionary_encode())[inverse],
        short=short[inverse],
        acronym=np.column_stack(acronyms)[inverse],
        nickname=nicknames[inverse],
        initial=_codes(initial.dictionary_encode())[inverse],
        abbreviated=abbreviated[inverse],
        family=_codes(family.dictionary_encode())[inverse],
        lettered=lettered[inverse],
        ends=_codes(both.dictionary_encode())[inverse],
        length=pc.utf8_length(compact).to_numpy().astype(np.int64)[inverse],
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Words:
    """The words of n names: ``codes`` into ``distinct``, those of name k from ``ends[k]`` to ``ends[k + 1]``."""

    distinct: pa.Array
    codes: NDArray[np.int32]
    ends: Codes

    @classmethod
    def from_texts(cls, texts: pa.Array) -> _Words:
        lists = pc.split_pattern(texts, " ")
        words = pc.list_flatten(lists).dictionary_encode()
        return cls(words.dictionary, words.indices.to_numpy(), lists.offsets.to_numpy().astype(np.int64))

    @property
    def first(self) -> Codes:
        """Return the position of the first word of each name."""
        return self.ends[:-1]

    @property
    def count(self) -> Codes:
        """Return the number of words of each name, at least one."""
        return np.diff(self.ends)

    @property
    def letters(self) -> Codes:
        """Return the number of letters of each distinct word."""
        return pc.utf8_length(self.distinct).to_numpy().astype(np.int64)

    def among(self, some: frozenset[str]) -> Flags:
        """Flag the distinct words that are in a set."""
        return pc.is_in(self.distinct, pa.array(sorted(some), pa.string())).to_numpy(zero_copy_only=False)

    def join(self, by: str, initials: Flags | None = None) -> pa.Array:
        """Return the names as texts; words flagged in ``initials`` are reduced to their first letter."""
        parts = self.distinct.take(pa.array(self.codes))
        if initials is not None:
            parts = pc.if_else(pa.array(initials), pc.utf8_slice_codeunits(parts, 0, 1), parts)
        return _join(self.ends, parts, by)

    def kept(self, flags: Flags) -> _Words:
        """Return the names with only the flagged words."""
        return _Words(self.distinct, self.codes[flags], np.concatenate([[0], np.cumsum(flags)])[self.ends])

    def at(self, positions: Codes) -> pa.Array:
        """Return the words at some positions."""
        return self.distinct.take(pa.array(self.codes[positions]))

    def last_outside(self, some: frozenset[str]) -> Codes:
        """Return the position of the last word of each name that is not in a set, or of the first word if all are."""
        places = np.where(self.among(some)[self.codes], -1, np.arange(len(self.codes)))
        return np.maximum(np.maximum.reduceat(places, self.first), self.first)

    def core(self) -> _Words:
        """Return the names without leading titles and trailing legal forms; at least one word is kept."""
        places = np.arange(len(self.codes))
        last = self.last_outside(_LEGAL)
        named = np.where(self.among(_TITLES)[self.codes], len(places), places)
        start = np.minimum(np.minimum.reduceat(named, self.first), last)
        return self.kept((places >= np.repeat(start, self.count)) & (places <= np.repeat(last, self.count)))

    def ordered(self) -> pa.Array:
        """Return the words of each name in a canonical order."""
        owner = np.repeat(np.arange(len(self.count)), self.count)
        packed = np.sort((owner << 32) | self.codes)
        return _Words(self.distinct, (packed & 0xFFFFFFFF).astype(np.int32), self.ends).join(" ")

    def acronyms(self) -> tuple[pa.Array, ...]:
        """Return the initials of all words, of all but small words, and of all but the last word, which is kept whole.

        The third form is for names such as "PTA Meeting".
        """
        large = self.kept(~self.among(_SMALL)[self.codes])
        whole = np.zeros(len(self.codes), bool)
        whole[self.ends[1:] - 1] = True
        texts = (
            (self.join("", ~np.zeros(len(self.codes), bool)), self.count >= 2),
            (large.join("", ~np.zeros(len(large.codes), bool)), large.count >= 2),
            (self.join("", ~whole), self.count >= 4),
        )
        return tuple(pc.if_else(pa.array(enough), text, None) for text, enough in texts)

    def formal(self) -> list[pa.Array]:
        """Return the name with its first word in each formal form that it may abbreviate, or null for names without such a form."""
        shorts = sorted(FORMAL)
        place = pc.index_in(self.distinct, pa.array(shorts, pa.string()))
        rest = self.kept(~np.isin(np.arange(len(self.codes)), self.first)).join(" ")
        several = pa.array(self.count > 1)
        found: list[pa.Array] = []
        for k in range(_NICKNAMES):
            table = pa.array([(*FORMAL[s], None, None, None)[k] for s in shorts], pa.string())
            forms = table.take(place)
            if k == 0:
                forms = pc.coalesce(forms, self.distinct)
            first = forms.take(pa.array(self.codes[self.first]))
            found.append(pc.if_else(several, pc.binary_join_element_wise(first, rest, " "), None))
        return found

    def initial(self) -> tuple[pa.Array, Flags]:
        """Return the first letter and last word of two-part names, and whether the first word is only a letter."""
        last = self.codes[self.ends[1:] - 1]
        letter = pc.utf8_slice_codeunits(self.at(self.first), 0, 1)
        two = (self.count == 2) & pc.utf8_is_alpha(letter).to_numpy(zero_copy_only=False)
        whole = two & (self.letters[last] > 1)
        text = pc.binary_join_element_wise(letter, self.distinct.take(pa.array(last)), " ")
        return pc.if_else(pa.array(whole), text, None), two & (self.letters[self.codes[self.first]] == 1)

    def family(self) -> tuple[pa.Array, Flags, pa.Array]:
        """Return the first letter of the first word with the last word, whether a given name is one letter, and both words.

        Only names of several words have them. A name that ends in letters is read from its other end: "Smith J R" as "J R Smith".
        """
        bare = (self.letters == 1) & pc.utf8_is_alpha(self.distinct).to_numpy(zero_copy_only=False)
        last, first = self.last_outside(_LAST), self.first
        several = last > first
        backward = several & bare[self.codes[last]] & ~bare[self.codes[first]]
        given = self.codes[np.where(backward, np.minimum(first + 1, self.ends[1:] - 1), first)]
        family = self.codes[np.where(backward, first, last)]
        letter = pc.utf8_slice_codeunits(self.distinct, 0, 1)
        usable = several & (self.letters > 1)[family] & pc.utf8_is_alpha(letter).to_numpy(zero_copy_only=False)[given]
        last_words = self.distinct.take(pa.array(family))
        initials = pc.binary_join_element_wise(letter.take(pa.array(given)), last_words, " ")
        whole = pc.binary_join_element_wise(self.distinct.take(pa.array(given)), last_words, " ")
        return (
            pc.if_else(pa.array(usable), initials, None),
            usable & bare[given],
            pc.if_else(pa.array(usable & (self.count <= _ENDS)), whole, None),
        )


def _words(text: str) -> str:
    """Return the folded words of a text."""
    text = text.casefold() if text.isascii() else latin(text)
    return " ".join(_WORD.findall(text.replace("&", " and "))).replace("'", "")


def _join(ends: Codes, parts: pa.Array, by: str) -> pa.Array:
    return pc.binary_join(pa.ListArray.from_arrays(pa.array(ends, pa.int32()), parts), by)


def _turned(names: pa.Array) -> pa.Array:
    """Turn "Last, First" and "Last, First, Jr." round, except legal forms after the comma and lists."""
    listed = pc.match_substring(names, ",")
    if not pc.any(listed).as_py():
        return names
    turned = [_turn(name) for name in names.filter(listed).to_pylist()]
    return pc.replace_with_mask(names, listed, pa.array(turned, pa.string()))


def _turn(name: str) -> str:
    head, tail, *more = name.split(",")
    words = tail.casefold().replace(".", " ").split()
    if not 1 <= len(tail.split()) <= 3 or set(words) <= _LEGAL or set(words) <= _LAST:
        return name
    if not more or (len(more) == 1 and more[0].casefold().strip(" .") in _LAST):
        return " ".join((tail, head, *more))
    return name


def _may_be_short(names: pa.Array, words: _Words, compact: pa.Array) -> Flags:
    """Return whether a name may be an acronym ("IBM", "I.B.M.", "Nato"), alone or before one more word ("PTA Meeting")."""
    lower = pc.equal(pc.utf8_lower(names), names).to_numpy(zero_copy_only=False)
    capital = pc.utf8_is_upper(pc.utf8_slice_codeunits(names, 0, 1)).to_numpy(zero_copy_only=False)
    if len(lower) - np.count_nonzero(lower) < _UPPER * len(lower):
        capital |= lower  # a namespace in lower case
    length = pc.utf8_length(compact).to_numpy()
    single = np.minimum.reduceat(words.letters[words.codes] == 1, words.first) | (words.count == 1)
    token = pc.list_element(pc.utf8_split_whitespace(pc.binary_join_element_wise(names, "-", " ")), 0)
    shouted = pc.utf8_is_upper(token).to_numpy(zero_copy_only=False)
    letters = pc.utf8_length(token).to_numpy()
    return np.where(
        single,
        (length >= 2) & (length <= 6) & capital,
        (words.count == 2) & (letters >= 3) & (letters <= 6) & shouted,
    )


def _look_up(texts: pa.Array, known: pa.Array, codes: Codes) -> Codes:
    """Return the code of each text among the known texts, or -1 for an unknown text."""
    place = pc.fill_null(pc.index_in(texts, known), -1).to_numpy()
    return np.append(codes, -1)[place]


def _codes(coded: pa.DictionaryArray) -> Codes:
    """Return the codes of an encoded column, with -1 for null and for the empty text."""
    codes = pc.fill_null(coded.indices, -1).to_numpy().astype(np.int64)
    empty = np.append(pc.equal(coded.dictionary, "").to_numpy(zero_copy_only=False), False)
    return np.where(empty[codes], -1, codes)


def _objects(texts: pa.Array) -> NDArray[np.object_]:
    out = np.empty(len(texts), np.object_)
    out[:] = texts.to_pylist()
    return out


# The name of an entity that results from merging rows with several names.
#
# The name is chosen for its quality, independently of the surviving row. The criteria, in this order: it is spelt correctly, it is the full
# form, its words are in natural order, it keeps its accents, it is written as a name (with capitals, a brand in its usual spelling), and
# most sources have it. Each criterion compares a name with the others of the group, so a name loses only to a better one. No name is
# invented: one of those given is kept.

_WORD_BEST_NAMES: Final = re.compile(r"[^\W_]+")
_BRAND: Final = re.compile(r"\b[^\W\d_]{3,}(?<=[a-z])[A-Z][^\W\d_]{2,}\b")
"""A capital inside a word of two longer parts: "OpenTelemetry", not "McDonald" or "WiFi"."""

_ACRONYM: Final = re.compile(r"\b[A-Z][A-Z0-9.&]{1,7}\b")
_LONGEST: Final = 12
"""Maximum number of words of names that are compared word by word; a longer name is prose."""


@dataclass(frozen=True, slots=True)
class NameCandidate:
    """The name of one row: ``sources`` counts its origins, ``context`` holds other texts of the row, such as its attributes."""

    name: str
    sources: int = 0
    context: str = ""


def choose_name(candidates: Sequence[NameCandidate]) -> str:
    """Return the best of the names, or the first of several equally good ones.

    Cost: the product of the words of each two names, and a lookup in the lexicon for each word that another name spells differently.
    """
    if not candidates:
        raise ValueError("A name can be chosen from one candidate or more, and none was given.")
    names = list(dict.fromkeys(c.name for c in candidates))
    if len(names) == 1:
        return names[0]
    sources = {name: sum(c.sources for c in candidates if c.name == name) for name in names}
    context = frozenset(fold(" ".join(c.context for c in candidates)).split())
    read = [_ReadName.parse(name) for name in names]

    def quality(name: _ReadName) -> tuple[int, ...]:
        others = [other for other in read if other is not name]
        return (
            -sum(_misspells(name, other, context) for other in others),
            -max(_abbreviates(name, other) for other in others),
            -int(any(_is_turned(name, other) for other in others)),
            _accents(name, others),
            -int(any(_lacks_capitals(name, other) for other in others)),
            int(any(_is_brand(name, other) for other in others)),
            int(unicodedata.is_normalized("NFC", name.text)),
            sources[name.text],
        )

    return max(read, key=quality).text


@dataclass(frozen=True, slots=True)
class _ReadName:
    """A name with its folded words, in the order in which they are written."""

    text: str
    words: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> _ReadName:
        return cls(text, tuple(fold(text).split())[:_LONGEST])


def _misspells(name: _ReadName, other: _ReadName, context: frozenset[str]) -> int:
    """Count the words of a name that another name spells correctly."""
    mine, theirs = set(name.words) - set(other.words), set(other.words) - set(name.words)
    return sum(any(_is_misspelt(word, right, context) for right in theirs) for word in mine)


def _is_misspelt(word: str, right: str, context: frozenset[str]) -> bool:
    """Return whether ``word`` is a misspelling of ``right``, a word that is a few letters away.

    This is so if ``right`` is known, from the lexicon or from the other values of the rows, and ``word`` is not.
    """
    if not near(word, right) or respelt(word, right):
        return False
    found = [(_is_correct(w), any(w in other for other in context)) for w in (word, right)]
    return found[0] < found[1]


def _is_correct(word: str) -> bool:
    return is_known(word) or is_given(word)


def _abbreviates(name: _ReadName, other: _ReadName) -> int:
    """Return 2 for an acronym or initials of the other name, 1 for a short form of its given name, else 0."""
    mine, theirs = set(name.words) - set(other.words), [w for w in other.words if w not in name.words]
    if not mine or not theirs:
        return 0
    initials = ["".join(w[0] for w in words) for words in (theirs, [w for w in theirs if w not in UNNAMED])]
    for text in _ACRONYM.findall(name.text):
        letters = "".join(_WORD_BEST_NAMES.findall(text)).casefold()
        if len(letters) > 1 and letters in initials and len(theirs) > 1:
            return 2
    if any(len(w) == 1 and any(len(full) > 1 and full.startswith(w) for full in theirs) for w in mine):
        return 2
    return int(any(full in FORMAL.get(w, ()) and w not in FORMAL.get(full, ()) for w in mine for full in theirs))


def _is_turned(name: _ReadName, other: _ReadName) -> bool:
    """Return whether a name has its family name first and a comma, and the other name has as many words without one."""
    family, comma, given = name.text.partition(",")
    if not comma or "," in given or "," in other.text:
        return False
    turned = (*fold(given).split(), *fold(family).split())
    pairs = zip(turned, other.words, strict=False)
    return len(turned) == len(other.words) and all(a == b or a[0] == b[0] or near(a, b) for a, b in pairs)


def _accents(name: _ReadName, others: Iterable[_ReadName]) -> int:
    """Count the letters of a name that another name writes without their accents."""
    if not any(_is_unaccented(other, name) for other in others):
        return 0
    return sum(map(_is_accented, unicodedata.normalize("NFC", name.text)))


def _is_unaccented(name: _ReadName, other: _ReadName) -> bool:
    """Return whether a name is the other one in plain letters ("Mueller" and "Muller" for "Müller")."""
    text = unicodedata.normalize("NFC", other.text)
    if not name.text.isascii() or not any(map(_is_accented, text)):
        return False
    # Letters of other alphabets that look like Latin ones do not count as accents: a forged name would otherwise replace the true one.
    if any(c.isalpha() and not c.isascii() and not _is_accented(c) for c in text):
        return False
    return fold(name.text) in (fold(text), fold(text.translate(_WRITTEN_OUT)))


def _is_accented(letter: str) -> bool:
    return not letter.isascii() and unicodedata.name(letter, "").startswith("LATIN ")


_WRITTEN_OUT: Final = str.maketrans(
    {"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "å": "aa", "Å": "Aa", "ø": "oe", "Ø": "Oe"}
)


def _lacks_capitals(name: _ReadName, other: _ReadName) -> bool:
    """Return whether a name has letters of one case, and the other name the same letters with capitals as in names."""
    if _squeezed(name) != _squeezed(other):
        return False
    return _has_one_size(name.text) and not _has_one_size(other.text)


def _has_one_size(text: str) -> bool:
    return text == text.lower() or (text == text.upper() and len(_WORD_BEST_NAMES.findall(text)) > 1)


def _is_brand(name: _ReadName, other: _ReadName) -> bool:
    """Return whether a name joins with a capital two words that the other name writes separately."""
    return bool(_BRAND.search(name.text)) and not _BRAND.search(other.text) and _squeezed(name) == _squeezed(other)


def _squeezed(name: _ReadName) -> str:
    return "".join(name.words)
