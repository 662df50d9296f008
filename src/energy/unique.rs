//! Maps of JSON in which no key stands twice. Where one does, a reader that takes the last value for it and one that takes the
//! first disagree on what the file says.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

/// Reads a map and refuses keys that stand twice.
pub(super) fn unique<'de, D: Deserializer<'de>, V: Deserialize<'de>>(from: D) -> Result<BTreeMap<String, V>, D::Error> {
    struct Unique<V>(PhantomData<V>);

    impl<'de, V: Deserialize<'de>> Visitor<'de> for Unique<V> {
        type Value = BTreeMap<String, V>;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a map")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
            let mut map = BTreeMap::new();
            while let Some((key, value)) = all.next_entry::<String, V>()? {
                if map.contains_key(&key) {
                    let key: String = key.chars().take(200).collect();
                    return Err(A::Error::custom(format!("the key `{key}` stands there twice")));
                }
                map.insert(key, value);
            }
            Ok(map)
        }
    }

    from.deserialize_map(Unique(PhantomData))
}
