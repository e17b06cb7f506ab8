// Writes slowwave/text/known_names.txt from the lexicon of the npm package compromise (MIT):
//   npm install --no-save compromise && node scripts/known_names.mjs > slowwave/text/known_names.txt
import nlp from 'compromise'

const SECTIONS = {
  given: ['MaleName', 'FemaleName', 'FirstName'],
  family: ['LastName'],
  people: ['Person'],
  places: ['City', 'Country', 'Region'],
  lands: ['Country', 'Region'],
  organizations: ['Organization', 'SportsTeam'],
  demonyms: ['Demonym'],
}

// Towns that the lexicon has as regions or countries alone: who moves from one of them to another town does not stay in it.
const TOWNS = new Set([
  'aguascalientes', 'bremen', 'campeche', 'chihuahua', 'colima', 'coventry', 'durango', 'guanajuato', 'khulna', 'leeds', 'luxembourg',
  'malacca', 'monaco', 'new york', 'oaxaca', 'quebec', 'queretaro', 'rajshahi', 'rangpur', 'san luis potosi', 'singapore', 'sylhet',
  'veracruz', 'washington', 'washington dc', 'zacatecas',
])

const tagged = Object.entries(nlp.model().one.lexicon).map(([word, tags]) => [word, [].concat(tags)])
for (const [section, tags] of Object.entries(SECTIONS)) {
  const words = tagged.filter(([word, own]) => /^[\p{L}\p{N}]/u.test(word) && tags.some((tag) => own.includes(tag)))
  console.log(`[${section}]`)
  for (const [word] of words.sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (section !== 'lands' || !TOWNS.has(word)) console.log(word)
  }
}
