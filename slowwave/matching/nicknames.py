"""Short forms of given names and what they stand for: the common ones, written by hand."""

from __future__ import annotations

from typing import Final

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
"""Short form → the formal names it may stand for, itself first if it is one (Jennifer is short for Guinevere as well)."""
