//! Plausible texts, by the name of a column.

use super::random::Random;
use fake::locales::{Data, EN};

/// What a text is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    FirstName,
    LastName,
    Person,
    Company,
    Product,
    City,
    Country,
    CountryCode,
    Street,
    PostCode,
    Region,
    Phone,
    Email,
    Url,
    UserName,
    Slug,
    Title,
    Text,
    Status,
    Color,
    Code,
    CurrencyCode,
    Language,
    Job,
    Word,
}

/// Words in the names of columns; the first line with one of them counts.
const SUBJECTS: &[(&[&str], Subject)] = &[
    (&["email", "mail"], Subject::Email),
    (&["firstname", "forename", "given"], Subject::FirstName),
    (&["lastname", "surname", "family"], Subject::LastName),
    (&["username", "login", "nick", "nickname", "handle"], Subject::UserName),
    (&["slug"], Subject::Slug),
    (&["url", "website", "link", "homepage"], Subject::Url),
    (&["phone", "tel", "telephone", "mobile", "fax"], Subject::Phone),
    (&["street", "address"], Subject::Street),
    (&["city", "town"], Subject::City),
    (&["zip", "postcode", "postal"], Subject::PostCode),
    (&["countrycode"], Subject::CountryCode),
    (&["country"], Subject::Country),
    (&["state", "region", "province"], Subject::Region),
    (&["company", "organization", "organisation", "employer", "vendor"], Subject::Company),
    (&["job", "profession", "occupation"], Subject::Job),
    (&["color", "colour"], Subject::Color),
    (&["currency"], Subject::CurrencyCode),
    (&["language", "lang", "locale"], Subject::Language),
    (&["status", "stage", "phase"], Subject::Status),
    (&["sku", "code", "isbn", "serial", "number", "reference"], Subject::Code),
    (&["title", "subject", "headline", "summary", "caption"], Subject::Title),
    (
        &[
            "description",
            "text",
            "body",
            "comment",
            "note",
            "notes",
            "bio",
            "about",
            "content",
            "message",
            "review",
        ],
        Subject::Text,
    ),
];

/// Words in the names of tables, for their column `name`.
const NAMED: &[(&[&str], Subject)] = &[
    (&["company", "organization", "organisation", "supplier", "vendor", "shop"], Subject::Company),
    (&["city", "town"], Subject::City),
    (&["country"], Subject::Country),
    (&["product", "item", "article", "good", "part"], Subject::Product),
    (&["tag", "category", "color", "colour", "role", "topic", "label", "kind"], Subject::Word),
];

impl Subject {
    /// The subject of a column of text.
    pub fn of(table: &str, column: &str) -> Self {
        let words = words(column);
        let find = |list: &[(&[&str], Self)], words: &[String]| {
            let has = |names: &&[&str]| words.iter().any(|word| names.contains(&word.as_str()));
            list.iter().find(|(names, _)| has(names)).map(|(_, subject)| *subject)
        };
        let joined: Vec<_> = words.windows(2).map(|pair| pair.concat()).collect();
        if let Some(subject) = find(SUBJECTS, &joined).or_else(|| find(SUBJECTS, &words)) {
            return subject;
        }
        if words.iter().any(|word| word == "name") {
            let mut singular = self::words(table);
            singular.extend(words);
            let plural: Vec<_> =
                singular.iter().filter_map(|word| word.strip_suffix('s')).collect();
            let plural: Vec<_> = plural.into_iter().map(str::to_owned).collect();
            singular.extend(plural);
            return find(NAMED, &singular).unwrap_or(Self::Person);
        }
        Self::Word
    }

    /// A text.
    pub fn text(self, random: &mut Random) -> String {
        let mut one = |words: &[&'static str]| random.pick(words).copied().unwrap_or_default();
        match self {
            Self::FirstName => one(EN::NAME_FIRST_NAME).to_owned(),
            Self::LastName => one(EN::NAME_LAST_NAME).to_owned(),
            Self::Person => {
                format!("{} {}", one(EN::NAME_FIRST_NAME), one(EN::NAME_LAST_NAME))
            }
            Self::Company => format!("{} {}", one(EN::NAME_LAST_NAME), one(EN::COMPANY_SUFFIX)),
            Self::Product => format!("{} {}", capital(one(ADJECTIVES)), one(PRODUCTS)),
            Self::City => format!("{}{}", one(EN::NAME_FIRST_NAME), one(EN::ADDRESS_CITY_SUFFIX)),
            Self::Country => one(EN::ADDRESS_COUNTRY).to_owned(),
            Self::CountryCode => one(EN::ADDRESS_COUNTRY_CODE).to_owned(),
            Self::Region => one(EN::ADDRESS_STATE).to_owned(),
            Self::Street => {
                let street =
                    format!("{} {}", one(EN::NAME_LAST_NAME), one(EN::ADDRESS_STREET_SUFFIX));
                format!("{} {street}", random.between(1, 250))
            }
            Self::PostCode => format!("{:05}", random.between(1_000, 99_999)),
            Self::Phone => format!("+1 555 {:03} {:04}", random.below(1_000), random.below(10_000)),
            Self::Email => {
                let name = format!("{}.{}", one(EN::NAME_FIRST_NAME), one(EN::NAME_LAST_NAME));
                let host = one(&["example.org", "example.com", "example.net"]);
                format!("{}@{host}", name.to_lowercase().replace(['\'', ' '], ""))
            }
            Self::Url => format!("https://example.org/{}/{}", one(ADJECTIVES), one(EN::LOREM_WORD)),
            Self::UserName => {
                let name = one(EN::NAME_FIRST_NAME).to_lowercase();
                format!("{name}{}", random.below(1_000))
            }
            Self::Slug => {
                format!("{}-{}-{}", one(ADJECTIVES), one(EN::LOREM_WORD), one(EN::LOREM_WORD))
            }
            Self::Title => capital(&sentence(random, 3, 6)),
            Self::Text => {
                let count = random.between(1, 3);
                let sentences = (0..count).map(|_| capital(&sentence(random, 5, 12)) + ".");
                sentences.collect::<Vec<_>>().join(" ")
            }
            Self::Status => one(&["new", "active", "pending", "done", "cancelled"]).to_owned(),
            Self::Color => {
                one(&["black", "blue", "green", "grey", "red", "white", "yellow"]).to_owned()
            }
            Self::Code => {
                let letter = |random: &mut Random| char::from(b'A' + random.below(26) as u8);
                let letters: String = (0..3).map(|_| letter(random)).collect();
                format!("{letters}-{:05}", random.below(100_000))
            }
            Self::CurrencyCode => one(&["CHF", "EUR", "GBP", "JPY", "USD"]).to_owned(),
            Self::Language => one(&["de", "en", "es", "fr", "it", "ja", "pt"]).to_owned(),
            Self::Job => one(EN::COMPANY_PROFESSION).to_owned(),
            Self::Word => one(EN::LOREM_WORD).to_owned(),
        }
    }

    /// The text with a number, for a column whose values differ; at most `max` characters long.
    pub fn numbered(self, text: &str, number: u64, max: usize) -> String {
        let number = number.to_string();
        let (start, end) = match (self, text.split_once('@')) {
            (Self::Email, Some((start, end))) => (start, format!("@{end}")),
            _ => (text, String::new()),
        };
        let separator = if matches!(self, Self::Slug | Self::Code) { "-" } else { "" };
        let Some(room) = max.checked_sub(number.len() + end.len() + separator.len()) else {
            return short_number(&number, max);
        };
        let start: String = start.chars().take(room).collect();
        format!("{start}{separator}{number}{end}")
    }
}

/// A long number as a text of so many letters and digits.
fn short_number(number: &str, length: usize) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let mut rest: u64 = number.parse().unwrap_or_default();
    let mut digit = || {
        let digit = DIGITS.get((rest % 36) as usize).copied().unwrap_or(b'0');
        rest /= 36;
        char::from(digit)
    };
    (0..length).map(|_| digit()).collect()
}

const ADJECTIVES: &[&str] = &[
    "blue", "bright", "classic", "compact", "cosy", "deluxe", "fine", "folding", "fresh", "gentle",
    "green", "handy", "heavy", "light", "little", "modern", "old", "plain", "quick", "quiet",
    "round", "silver", "simple", "small", "smart", "soft", "solid", "strong", "sturdy", "warm",
];

const PRODUCTS: &[&str] = &[
    "Bag", "Basket", "Bicycle", "Blanket", "Book", "Bottle", "Bowl", "Box", "Brush", "Camera",
    "Candle", "Chair", "Clock", "Cup", "Desk", "Guitar", "Hammer", "Hat", "Jacket", "Kettle",
    "Knife", "Lamp", "Mirror", "Mug", "Notebook", "Pan", "Pen", "Pillow", "Plate", "Rake", "Scarf",
    "Shelf", "Shirt", "Shoe", "Spade", "Spoon", "Table", "Tent", "Towel", "Umbrella",
];

fn sentence(random: &mut Random, least: i64, most: i64) -> String {
    let count = random.between(least, most);
    let words = (0..count).map(|_| random.pick(EN::LOREM_WORD).copied().unwrap_or_default());
    words.collect::<Vec<_>>().join(" ")
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The words of a name in lower case: `first_name` and `firstName` have two.
pub fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || letter.is_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = letter.is_lowercase();
        if letter.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
