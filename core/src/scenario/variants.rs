//! The settings of a scenario: `[[variant]]`, each with a profile, switches, and tables of its own
//! where it differs from the scenario in more than switches.
//!
//! ```toml
//! [[variant]]
//! name = "with partial parities"
//! [variant.array]
//! consistency = "ppl"
//! ```

use super::fields::{Problem, Span};
use super::file::build;
use super::keys;
use super::raw::{self, Raw};
use super::{Scenario, Variant};
use crate::behaviour::{Behaviours, PROFILES, Profile};
use crate::geometry::Geometry;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Tables that a setting may have for itself: what it says in them stands in place of what the
/// scenario says. Files and operations are the same for all.
pub(super) const OWN: [&str; 8] =
    ["world", "device", "queue", "partition", "array", "dirty", "kswapd", "run"];

/// Every setting; one where the file names none.
pub(super) fn build_variants(
    raw: &Raw,
    root: &Spanned<DeTable<'_>>,
) -> Result<Vec<Variant>, Problem> {
    let mut variants: Vec<Variant> = Vec::new();
    for (nth, variant) in raw.variant.iter().enumerate() {
        let profile = variant.profile.as_ref().or(raw.profile.as_ref());
        let switches = raw.switches.iter().chain(&variant.switches);
        let name = variant.name.get_ref();
        if variants.iter().any(|other| other.name == *name) {
            let message = format!("two variants are called `{name}`: give one another name");
            return Err((variant.name.span(), message));
        }
        let mut built = build_variant(name, profile, switches)?;
        if let Some(place) = &variant.own {
            built.own = Some(Arc::new(own_scenario(root, nth, place)?));
        }
        variants.push(built);
    }
    if variants.is_empty() {
        variants.push(build_variant("run", raw.profile.as_ref(), raw.switches.iter())?);
    }
    Ok(variants)
}

fn build_variant<'a>(
    name: &str,
    profile: Option<&Spanned<String>>,
    switches: impl Iterator<Item = &'a (Spanned<String>, Spanned<String>)>,
) -> Result<Variant, Problem> {
    let chosen = match profile {
        Some(named) => Profile::named(named.get_ref()).ok_or_else(|| {
            let known: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
            let message =
                format!("no profile `{}`: expected one of {}", named.get_ref(), known.join(", "));
            (named.span(), message)
        })?,
        None => Profile::usual(),
    };
    let mut behaviours: Behaviours = chosen.behaviours;
    for (switch, value) in switches {
        let (name, known) = (switch.get_ref(), Behaviours::values(switch.get_ref()).is_some());
        let place = if known { value.span() } else { switch.span() };
        behaviours.set(name, value.get_ref()).map_err(|message| (place, message))?;
    }
    let (name, profile) = (name.to_owned(), chosen.name.to_owned());
    Ok(Variant { name, profile, behaviours, own: None })
}

/// The scenario as this setting sees it, without settings of its own.
fn own_scenario(
    root: &Spanned<DeTable<'_>>,
    nth: usize,
    place: &Span,
) -> Result<Scenario, Problem> {
    let merged = merged(root, nth);
    let (own, _) = build(&raw::read(&merged)?, &merged)?;
    let mut base = root.clone();
    base.get_mut().remove("variant");
    let sizes = |geometry: Geometry| (geometry.page_size(), geometry.block_size());
    if sizes(build(&raw::read(&base)?, &base)?.0.geometry) != sizes(own.geometry) {
        let message = "pages and blocks have one size in all variants: leave them out here";
        return Err((place.clone(), message.to_owned()));
    }
    Ok(own)
}

/// A scenario's tables with those of one of its settings over them, and without settings.
fn merged<'a>(root: &Spanned<DeTable<'a>>, nth: usize) -> Spanned<DeTable<'a>> {
    let mut whole = root.clone();
    let tables = whole.get_mut();
    let variants = tables.remove("variant");
    let all = variants.as_ref().and_then(|all| all.get_ref().as_array());
    let variant = all.and_then(|all| all.get(nth)?.get_ref().as_table());
    let given = variant.into_iter().flat_map(|table| table.iter());
    for (name, own) in given.filter(|(name, _)| OWN.contains(&name.get_ref().as_ref())) {
        let table = tables.get_mut(name.get_ref().as_ref()).map(Spanned::get_mut);
        match (table, own.get_ref()) {
            (Some(DeValue::Table(table)), DeValue::Table(more)) => {
                for (key, value) in more {
                    table.remove(key.get_ref().as_ref());
                    table.insert(key.clone(), value.clone());
                }
                drop_idle(name.get_ref(), table, more);
            }
            _ => {
                tables.insert(name.clone(), own.clone());
            }
        }
    }
    whole
}

/// Takes keys out of the scenario's table that mean nothing beside a word of the setting's: another
/// level of arrays has other keys, and a setting cannot unsay one.
fn drop_idle(name: &str, table: &mut DeTable<'_>, own: &DeTable<'_>) {
    let Some((_, always, Some(keys))) = keys::of_word(name, own) else { return };
    let means = |key: &str| always.contains(&key) || keys.contains(&key) || own.get(key).is_some();
    let names = table.keys().map(|key| key.get_ref().to_string());
    for name in names.filter(|name| !means(name)).collect::<Vec<_>>() {
        table.remove(name.as_str());
    }
}

impl Scenario {
    /// The scenario as a setting sees it: with the setting's own tables, if it has some.
    pub fn of<'a>(&'a self, variant: &'a Variant) -> &'a Self {
        variant.own.as_deref().unwrap_or(self)
    }
}

#[cfg(test)]
mod tests {
    use crate::device::array::ArrayKind;
    use crate::device::md::stripes::Consistency;
    use crate::scenario::file::parse_scenario;
    use crate::scenario::write::write_scenario;
    use crate::scenario::{Scenario, Variant};
    use crate::units::Bytes;

    const BASE: &str = "version = 0\ntitle = \"t\"\n[world]\npage_size = 4096\nblock_size = 4096\n\
                        max_folio_order = 0\n[array]\nlevel = \"raid5\"\nmembers = 4\n\
                        chunk = \"4k\"\n[[file]]\nname = \"f\"\nsize = \"48k\"\n\
                        [[op]]\ndo = \"fsync\"\n";

    fn consistency(scenario: &Scenario, variant: &Variant) -> Consistency {
        match scenario.of(variant).array {
            Some(ArrayKind::Parity { consistency, .. }) => consistency,
            Some(ArrayKind::Chunks { .. } | ArrayKind::Copies { .. }) | None => panic!("parity"),
        }
    }

    #[test]
    fn a_setting_has_tables_of_its_own() {
        let text = format!(
            "{BASE}[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\n[variant.array]\n\
             consistency = \"ppl\"\n[variant.partition]\nstart = \"64k\"\n"
        );
        let scenario = parse_scenario("s", &text).expect("a good file");
        let [a, b] = &scenario.variants[..] else { panic!("two settings") };
        assert_eq!(consistency(&scenario, a), Consistency::Resync);
        assert_eq!(consistency(&scenario, b), Consistency::PartialParity);
        let start = |variant| scenario.of(variant).partition;
        assert_eq!((start(a), start(b)), (Bytes::ZERO, Bytes::kib(64)));
        // What it does not say is the scenario's.
        assert_eq!(scenario.of(b).files, scenario.files);
        let again = write_scenario(&scenario).expect("a file can say it");
        assert_eq!(parse_scenario("s", &again).expect("it reads back"), scenario, "{again}");
    }

    #[test]
    fn what_is_wrong_with_it_is_said_at_its_place() {
        let of = |own: &str| {
            let text = format!("{BASE}[[variant]]\nname = \"a\"\n{own}\n");
            let error = parse_scenario("s", &text).expect_err("a bad file");
            (error.line, error.message)
        };
        let (line, message) = of("[variant.array]\nconsistency = \"x\"");
        assert_eq!((line, message.contains("no consistency `x`")), (19, true), "{message}");
        let (line, message) = of("[variant.array]\nfoo = 1");
        assert_eq!((line, message.contains("unknown field `foo`")), (19, true), "{message}");
        let (line, message) = of("array = 3");
        assert_eq!(
            (line, message.contains("array is 3: expected a table")),
            (18, true),
            "{message}"
        );
        let (_, message) = of("[variant.world]\nblock_size = 512");
        assert!(message.contains("one size in all variants"), "{message}");
        let (_, message) = of("[variant.file]\nname = \"g\"");
        assert!(message.contains("unknown field `file`"), "{message}");
    }
}
