"""Words of names: what begins, ends and joins names of people, organisations, places and products in English."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STARTERS: Final = _words(
    """a about above absolutely according after afterwards again ah all almost alright also although always am amazing an and
    another any anyone anything anyway apart are aren't as ask assigned at aw awesome be because been before being best besides
    better both bring but by bye call can can't cannot certainly check choose come congrats congratulations consider could
    customer customers dear definitely did didn't do does doesn't don't done dr during each either else enjoy enough especially
    even ever every everyone everything exactly excellent except fantastic few finally find fine first firstly follow for from
    generally get give glad go going good goodbye goodnight got great greetings had haha happy hardly has have haven't having he
    he'd he'll he's hello help hence her here here's hers hey hi him his hmm hope hotfix how however i i'd i'll i'm i've if imagine
    in indeed inside instead interesting into is isn't issue it it'd it'll it's its just keep last lastly later least less let
    let's like likewise listen look lots lovely make many may maybe me meanwhile might mine more moreover most mostly mr mrs ms
    much must my need never nevertheless next nice no nobody none nope nor not nothing now of off oh ok okay on once one only
    oops or other otherwise our ours out over overall perfect perhaps personally please plus priority probably quite rather
    really recently regarding remember right root same say second secondly see seems severity several shall she she'd she'll
    she's should similarly since so some somebody someone something sometimes soon sorry sounds speaking still such suddenly
    summary sure surely take talk tell than thank thanks that that'd that's the their theirs them then there there's therefore
    these they they'd they'll they're they've thing things think third this those though three through throughout thus till to
    together too toward towards true truly try two under unfortunately unless unlike until up upon us use usually very via wait
    was wasn't we we'd we'll we're we've welcome well were weren't what what's whatever when whenever where whereas wherever
    whether which whichever while who who's whoever whom whose why will wish with within without won't wonderful would wow yay
    yeah yep yes yet you you'd you'll you're you've your yours yourself
    today tomorrow tonight yesterday morning afternoon evening night monday tuesday wednesday thursday friday saturday sunday
    mon tue wed thu fri sat sun january february march april june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec am pm utc gmt asap faq fyi ps etc eg ie ok"""
)
"""Words that are no name on their own, wherever they stand; at a sentence's start they are cut off a run."""
IN_TITLES: Final = _words(
    """about above after again all always any as at be before behind better both but by come could did do down each even ever every
    everything few first follow for from get give go good he her here his how if in into it its just keep last let like little look
    make many may me more must my never new next no not nothing of off on once only or other our out over same second see she should
    since so some something soon still take than that their them these they third this those through to together too two under until
    up us very we what when where which while who whose why with within without would you your"""
)
"""Words of no meaning of their own that are part of a title where they have a capital within a sentence."""
IMPERATIVES: Final = _words(
    """add added allow avoid build bump change changed clone configure connect contact copy create define delete deploy deprecate
    disable donate download drop edit enable execute export extend fix fixed fixes ignore implement import include increase install
    join learn load log mention move open overview pass print publish push read refactor release remove removed rename replace report
    require reset return review run save search send serve set setup share show sign skip start stop store submit support
    supports switch sync test train turn update updated upgrade upload validate verify view visit watch write"""
)
"""What a heading or a step begins with, before the name of what is meant."""
GIVEN: Final = _words(
    """aaron adam adrian ahmed alan albert alex alexander alexandra ali alice alicia alison amanda amir amy ana andrea andrew
    angela anita ann anna anne anthony antonio anya arthur barbara ben benjamin bernard beth betty bill bob brandon brenda brian
    bruce carl carla carlos carmen carol caroline catherine chad charles charlotte chen chloe chris christian christina
    christine christopher claire clara colin connor craig cynthia daniel daniela david deborah dennis diana diego dmitri donald
    donna dorothy doug dylan ed eddie edgar eduardo edward elena elizabeth ella ellen emily emma eric erik erin ethan eva evelyn
    fatima felix fernando fiona frances francis frank fred gabriel gareth gary george gina giulia gloria greg hannah hans harold
    harry hassan heather helen henry howard hugh ian ibrahim ines ingrid irene isabel isabella ivan ivy jack jacob jake james
    jamie jan jane janet jason javier jean jeff jennifer jenny jeremy jerry jessica jill jim joan joe johan johannes john
    jonathan jordan jorge jose joseph joshua joyce juan judith judy julia julian julie justin karen karl kate katherine kathleen
    katie keith kelly ken kenneth kevin kim kyle laura lauren lee leila leo leon leonard liam lily linda lisa liu louis louise
    lucas lucia lucy luis luke luna maria marie mario mark marta martha martin mary matt matthew max maya megan mei melissa
    michael michelle miguel mike mohammed monica nadia nancy natalie natasha nathan neil nicholas nicole nina noah nora oliver
    olivia omar oscar pablo pamela patricia patrick paul paula pedro peter philip priya rachel rafael raj ralph raymond rebecca
    ricardo richard rob robert robin roger roland ron ronald rosa rosie ruth ryan sally sam samantha samuel sandra sara sarah
    scott sean sergei sharon simon sofia sonia sophia sophie stefan stephanie stephen steve steven stuart sunny susan suzanne
    sven tanya teresa terry theo theresa thomas tim timothy tina tom tomas tony tracy valentina vanessa veronica victor victoria
    vincent walter wang wei wendy will william xavier yan yuki yusuf zara zhang zoe"""
) | _words(
    """aditi agnieszka aiko aino akira aldo aleksander amit anders anjali anja anke anneke annika antje arjun arvid asha astrid ayse
    barbora bartosz beata birgit bjarne bogdan bram bruna camille carlo chiara ciara colm conor dagmar darragh declan deepa dieter
    dirk dorota eamon ebru eoin elif emre enrico esra fabio fabrizio fleur florian franziska freya fritz gerhard giorgio giovanni
    gisela goran greta gudrun gunnar guillaume hadewych hakan halina hamza haruki heike heinrich heinz helga hendrik henning henrike
    hiroshi hildegard ilse imke ingeborg ingo irina isak ivana jaap jacek jana jannik jelena jens jiri joana joao joost jozef juergen
    jurgen jutta kaisa kaja kamal karin katarzyna katja katrin keiko kemal kenji kerstin klaus kofi krzysztof kwame lakshmi lars lasse
    leonie lieke lorenzo ludwig luigi lukas maarten magda magdalena magnus malgorzata manfred manuela marcin marco marek margit
    markus marleen marta massimo mateus mateusz matteo matthias meera mehmet michal mieke mirjam mohamed murat nadine naoko
    navin neha niall niamh nikhil nils nino nuno odile oisin olaf ole oleksandr olga oskar pavel pawel petra pierre pieter piotr pooja
    priyanka radek rahul ravi reinhard renate roisin roza ruben saoirse sakura sanjay satoshi selin seung siobhan sigrid silke silvia
    sinead solveig soren stanislav sunita susanne svetlana takeshi tatiana thijs thorsten tomasz torsten ulrike ursula uwe vaclav
    vikram vladimir wanda wiebke willem wojciech yannick yasmin yumi yves zeynep zofia zuzana"""
)
GIVEN_ALONE: Final = GIVEN - _words(
    "chad chen christian felix frank grace jack jan jean jordan kim lee lily luna mark mei rob sunny will"
)
"""Given names that are a person even as the only word of a sentence's start, where nothing else speaks for a name."""
TITLES: Final = _words(
    "mr mrs ms miss dr prof professor sir madam lord lady captain king queen uncle aunt auntie doctor"
)
ROLES: Final = _words(
    """architect artist author boss brother captain ceo cfo classmate colleague cousin coworker cto dad daughter designer developer
    director engineer father friend girlfriend boyfriend husband lead lawyer manager mentor mother mum mom neighbor neighbour nurse
    partner president roommate sister son teacher wife writer named hi hello hey dear thanks bye"""
)
OFFICES: Final = _words(
    """ambassador assistant attorney captain chair chairman chairwoman chairperson chancellor chief coach commander commissioner
    congressman consul coordinator councillor deputy dean director duchess duke earl editor emperor empress executive founder general
    governor head judge justice justices king leader lieutenant lord manager marshal mayor member minister officer premier president
    prime princess prince principal professor queen representative secretary senator sergeant sheriff speaker superintendent
    supervisor treasurer vice vp svp evp"""
)
"""Offices that somebody holds: with ``of`` behind, or alone, no name of anybody."""
WORKS: Final = _words(
    "film movie novel book album song single musical opera poem sitcom miniseries documentary videogame ballad"
)
"""What the title of a work follows."""
ORGANISED: Final = _words(
    """inc corp corporation ltd limited llc gmbh plc company group bank university college school institute academy labs laboratory
    foundation association agency industries logistics systems technologies technology solutions partners holdings airlines
    hospital ministry department council committee society union bureau records retail health healthcare energy commission
    authority parliament embassy conservancy clinic pharmacy federation confederation consortium cooperative brewery bakery
    dairies tribunal army navy pharma media studios ventures capital insurance consulting freight shipping foods motors networks
    enterprises"""
)
LEGAL_FORMS: Final = _words("AB AG ApS AS ASA BV EOOD GmbH KG KK NV OHG Oy Oyj Pty SA SARL SAS SE SpA Srl SRO ULC")
"""What a company is in law, as it is written behind its name."""
ORGANISATIONS: Final = _words(
    "google microsoft amazon netflix ibm nasa nato openai facebook meta apple intel nvidia unesco unicef"
)
PLACED: Final = _words(
    """street avenue road boulevard lane city town village county province river lake mountain mountains valley beach bay
    island islands park square bridge airport station ocean sea desert forest castle museum garden gardens temple palace cathedral canyon
    falls peninsula plateau strait gulf hill hills peak fjord"""
)
PLACES: Final = _words(
    """africa america amsterdam argentina asia athens atlanta australia austria bangkok barcelona beijing belgium berlin boston
    brazil britain brussels cairo california canada chicago chile china copenhagen dallas delhi denmark denver dublin egypt
    england europe finland florida france geneva germany greece guangzhou hawaii houston hungary india indonesia iran iraq ireland
    israel istanbul italy japan kenya korea kyoto lisbon london madrid malaysia manchester mexico miami milan montreal moscow
    mumbai munich nepal netherlands nigeria norway oslo oxford pakistan paris peru philadelphia philippines poland portugal
    prague rome russia scotland seattle seoul shanghai shenzhen singapore spain stockholm sweden switzerland sydney taiwan texas
    thailand tibet tokyo toronto turkey uk ukraine usa vancouver venice vienna vietnam wales warsaw washington zurich"""
)
TOWNS: Final = _words(
    """aachen aarhus aberdeen ankara antwerp augsburg bangalore bergamo bielefeld bilbao birmingham bochum bologna bonn
    bordeaux bratislava braunschweig bremen brescia brighton brisbane bristol brno bruges bucharest budapest cambridge canberra cardiff
    cologne colombo coventry dortmund dresden duisburg dundee durban dusseldorf düsseldorf edinburgh eindhoven exeter frankfurt
    freiburg galway gdansk genoa ghent girona glasgow gothenburg göteborg granada graz grenoble groningen hamburg hannover hanover
    heidelberg helsinki innsbruck izmir jakarta johannesburg karlsruhe kassel katowice kaunas kiel klagenfurt krakow kraków kyiv
    leicester leiden leipzig leuven liège liverpool ljubljana lodz lübeck lublin lucerne lund luxembourg lviv lyon maastricht magdeburg
    mainz malaga málaga malmö malmo mannheim marseille melbourne minsk münster munster nairobi nantes naples newcastle nicosia nijmegen
    norwich nottingham nuremberg nürnberg odessa odense oostende osaka osnabrück ostrava oulu palermo pamplona perugia plovdiv plymouth
    portsmouth poznan poznań pristina reykjavik rennes riga rostock rotterdam saarbrücken salzburg sarajevo seville sevilla
    sheffield shrewsbury skopje southampton stavanger strasbourg stuttgart swansea szczecin szeged tallinn tampere tbilisi
    thessaloniki tilburg timisoara tirana toulouse trieste trondheim turin turku ulm uppsala utrecht valencia valletta verona vilnius
    walthamstow wellington wiesbaden winterthur wolverhampton wroclaw wuppertal yerevan zagreb zaragoza"""
)
"""Towns that no list of the lexicon has, but for those that are words or names of people."""
PLACE_STARTS: Final = _words(
    "new san santa los las mount north south east west saint st fort port rio lake cape gulf isle"
)
PARTS_OF_PLACES: Final = _words(
    """north south east west northern southern eastern western northeast northwest southeast southwest central greater inner outer upper
    lower downtown mainland old great"""
)
PRODUCTS: Final = _words(
    """airflow android bazel bun celery chrome confluence deno django docker dramatiq excel express flask git golang helm ios java kafka
    kotlin kubernetes linux mysql netflix notion pandas photoshop polars postgres powerpoint python redis ruff rust safari
    salesforce slack snowflake spark sqlite svelte terraform trello ubuntu vault vue windows zoom"""
)
SOFTWARE: Final = _words(
    """ansible bigquery bitbucket clickhouse couchdb cypress databricks datadog debian dockerfile docker drupal duckdb dynamodb
    elasticsearch fastapi figma firefox github gitlab golang grafana graphql gunicorn influxdb jenkins jinja jira kafka keycloak
    kibana kubernetes langchain langfuse mariadb matplotlib memcached minio mongodb mysql neovim netlify nginx nodejs numpy
    opensearch opentelemetry pgbouncer pgvector podman postgres postgresql powerpoint prometheus pydantic pyright pytest pytorch
    qdrant rabbitmq redis redshift sqlalchemy sqlite supabase tensorflow terraform tmux typescript ubuntu valkey vercel webpack
    wireshark zookeeper"""
)
"""Software whose name is no word of English."""
PRODUCT_NEXT: Final = _words(
    "app application software platform library framework database version api sdk plugin dashboard"
)
NAMED_AFTER: Final = _words(
    "agent award code day desktop engine house island line method model office prize project rice school server team test"
)
"""What is called by somebody's given name: a line, a prize, a model."""
PARTICLES: Final = _words("de del della di da van von der den la le du bin al")
LINKS: Final = PARTICLES | _words("of the")
CONNECTORS: Final = LINKS | _words("and for")
CODE_ENDINGS: Final = (
    "Error",
    "Exception",
    "Handler",
    "Manager",
    "Service",
    "Factory",
    "Client",
    "Controller",
    "Builder",
    "Config",
    "Settings",
    "Test",
)
PERSONAL: Final = _words(
    """said says told tells asked asks thinks thought likes liked loves loved lives lived married feels felt wants wanted laughed smiled
    cried apologized apologised agreed believes believed prefers hates hated enjoys enjoyed remembers forgot hopes worries replied
    answered explained complained admitted insisted joked promised suggested recommended invited"""
)
"""What people do, behind the name of one."""
STANDARDS: Final = _words(
    "AES COVID DES DSA ECDSA GPT HTTP ISO MD MP RFC RS RSA SARS SHA SSL TLS UTF VT WPA USB CC AC DC PM AM UTC GMT PEP ASCII BASE"
)
"""What stands before a number and is no key of a tracker."""
