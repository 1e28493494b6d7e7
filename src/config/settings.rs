//! The `settings!` macro: one declaration generates a configuration's type, its defaults, and the
//! table of its settings.

use crate::config::{Definition, Fault};

/// A configuration declared by `settings!`. Its settings include the settings of its groups.
pub trait Settings: Sized {
    /// The definitions of all settings.
    fn definitions() -> Vec<&'static Definition>;

    /// The definition of the setting with this name or synonym.
    fn definition(name: &str) -> Option<&'static Definition>;

    /// The values of all settings, in the order of their definitions.
    fn values(&self) -> Vec<String>;

    /// Sets the setting with this name or synonym; `None` if there is none.
    fn set_named(&mut self, name: &str, value: &str) -> Option<Result<(), Fault>>;

    /// The names of all settings, with their synonyms.
    fn names() -> impl Iterator<Item = &'static str> {
        Self::definitions().into_iter().flat_map(Definition::names)
    }
}

/// Declares a configuration.
///
/// ```text
/// settings! {
///     /// A sentence about the configuration.
///     #[derive(Clone, Debug)]
///     pub struct Name {
///         /// The description of the setting, as users read it.
///         #[setting("its.name.ms", Long)]
///         field: Duration = Duration::from_secs(1),
///         /// A number with bounds, in the unit of the setting; it can be changed at runtime.
///         #[setting("max.connections", Int in 1..=1000, PerBroker)]
///         connections_max: usize = 100,
///         /// A setting with other names.
///         #[setting("log.dirs", String)]
///         #[synonyms("log.dir")]
///         data_dir: PathBuf = PathBuf::from("data"),
///         /// A setting with functions of its own: `fn(&mut Name, &str) -> Result<(), String>`
///         /// and `fn(&Name) -> String`.
///         #[setting("compression.level", Int)]
///         #[with(set_level, shown_level)]
///         level: Option<i32> = None,
///     }
///     groups {
///         /// The settings of another declaration, with its defaults.
///         group: OtherName,
///     }
///     others {
///         /// A field that no setting sets.
///         cache: usize = 16,
///     }
/// }
/// ```
///
/// The type of a field determines the text form of its value ([`SettingValue`]). With bounds that
/// lack an upper one, the `Kind` determines the largest number: that of 32 bits for `Int`, of 64
/// bits for `Long`. A setting without an [`UpdateMode`] is read-only.
///
/// [`SettingValue`]: crate::config::SettingValue
/// [`UpdateMode`]: crate::config::UpdateMode
macro_rules! settings {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $(
                $(#[doc = $doc:literal])+
                #[setting($key:literal, $kind:ident $(in $bounds:expr)? $(, $update:ident)?)]
                $(#[synonyms($($synonym:literal),+)])?
                $(#[with($set:path, $get:path)])?
                $field:ident: $type:ty = $default:expr,
            )*
        }
        $(groups {
            $($(#[$group_about:meta])+ $group:ident: $group_type:ty,)+
        })?
        $(others {
            $($(#[$other_about:meta])+ $other:ident: $other_type:ty = $other_default:expr,)+
        })?
    ) => {
        $(#[$about])*
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $type,)*
            $($($(#[$group_about])+ pub $group: $group_type,)+)?
            $($($(#[$other_about])+ pub $other: $other_type,)+)?
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                    $($($group: <$group_type>::default(),)+)?
                    $($($other: $other_default,)+)?
                }
            }
        }

        impl $name {
            /// Every setting of this type, in the order of its declaration.
            pub const KEYS: &'static [$crate::config::Key<Self>] = &[
                $($crate::config::Key {
                    definition: $crate::config::Definition {
                        name: $key,
                        // The lines of a doc comment, each with the space before it.
                        about: concat!($($doc),+).trim_ascii_start(),
                        kind: $crate::config::Kind::$kind,
                        update: $crate::config::settings!(@update $($update)?),
                        synonyms: &[$($($synonym),+)?],
                    },
                    set: $crate::config::settings!(@set $field, $kind $($bounds)? $(, $set)?),
                    get: $crate::config::settings!(@get $field $(, $get)?),
                },)*
            ];
        }

        impl $crate::config::Settings for $name {
            fn definitions() -> Vec<&'static $crate::config::Definition> {
                let own = Self::KEYS.iter().map(|key| &key.definition);
                own$($(.chain(<$group_type as $crate::config::Settings>::definitions()))+)?
                    .collect()
            }

            fn definition(name: &str) -> Option<&'static $crate::config::Definition> {
                let own = Self::KEYS.iter().map(|key| &key.definition);
                let mut own = own.filter(|definition| definition.is_called(name));
                own.next()$($(.or_else(|| {
                    <$group_type as $crate::config::Settings>::definition(name)
                }))+)?
            }

            fn values(&self) -> Vec<String> {
                let own = Self::KEYS.iter().map(|key| (key.get)(self));
                own$($(.chain($crate::config::Settings::values(&self.$group)))+)?.collect()
            }

            fn set_named(
                &mut self,
                name: &str,
                value: &str,
            ) -> Option<Result<(), $crate::config::Fault>> {
                $crate::config::set_named(self, Self::KEYS, name, value)
                    $($(.or_else(|| {
                        $crate::config::Settings::set_named(&mut self.$group, name, value)
                    }))+)?
            }
        }
    };

    (@update) => {
        $crate::config::UpdateMode::ReadOnly
    };
    (@update $update:ident) => {
        $crate::config::UpdateMode::$update
    };

    (@set $field:ident, $kind:ident) => {
        |config, text| {
            config.$field = $crate::config::SettingValue::parse(text)?;
            Ok(())
        }
    };
    (@set $field:ident, $kind:ident $bounds:expr) => {
        |config, text| {
            config.$field = $crate::config::within(text, $crate::config::Kind::$kind, $bounds)?;
            Ok(())
        }
    };
    (@set $field:ident, $kind:ident, $set:path) => {
        $set
    };
    (@get $field:ident) => {
        |config| $crate::config::SettingValue::show(&config.$field)
    };
    (@get $field:ident, $get:path) => {
        $get
    };
}

pub(crate) use settings;

#[cfg(test)]
#[expect(unreachable_pub, reason = "a declared configuration is public")]
mod tests {
    use std::time::Duration;

    use crate::config::{Definition, Kind, Settings, UpdateMode, set_all};

    settings! {
        /// A configuration.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Sample {
            /// The number of partitions,
            /// at least one.
            #[setting("num.partitions", Int in 1.., ClusterWide)]
            partitions: usize = 3,
            /// An age.
            #[setting("retention.ms", Long)]
            #[synonyms("log.retention.ms", "log.retention.hours")]
            retention: Option<Duration> = Some(Duration::from_hours(1)),
        }
        groups {
            /// Other settings.
            inner: Inner,
        }
        others {
            /// A field that no setting sets.
            limit: u8 = 7,
        }
    }

    settings! {
        /// A group of settings.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Inner {
            /// A switch.
            #[setting("is.on", Boolean)]
            is_on: bool = true,
        }
    }

    #[test]
    fn a_declaration_gives_fields_with_defaults_and_their_definitions() {
        let sample = Sample::default();
        let (retention, inner) = (Some(Duration::from_hours(1)), Inner { is_on: true });
        assert_eq!(sample, Sample { partitions: 3, retention, inner, limit: 7 });
        let definitions = Sample::definitions();
        let expected = Definition {
            name: "num.partitions",
            about: "The number of partitions, at least one.",
            kind: Kind::Int,
            update: UpdateMode::ClusterWide,
            synonyms: &[],
        };
        assert_eq!(*definitions[0], expected);
        assert_eq!(definitions[1].update, UpdateMode::ReadOnly);
        assert_eq!(sample.values(), ["3", "3600000", "true"]);
        let names = ["num.partitions", "retention.ms", "log.retention.ms", "log.retention.hours"];
        assert_eq!(Sample::names().collect::<Vec<_>>(), [&names[..], &["is.on"]].concat());
    }

    #[test]
    fn a_value_is_set_by_any_name_in_the_unit_of_that_name() {
        let mut sample = Sample::default();
        for (name, value, retention) in [
            ("log.retention.hours", "2", Some(Duration::from_hours(2))),
            ("log.retention.hours", "-1", None),
            ("retention.ms", "5", Some(Duration::from_millis(5))),
        ] {
            assert_eq!(sample.set_named(name, value), Some(Ok(())), "{name}");
            assert_eq!(sample.retention, retention, "{name}={value}");
        }
        assert_eq!(sample.set_named("is.on", "false"), Some(Ok(())));
        assert!(!sample.inner.is_on);
        assert_eq!(sample.set_named("is.off", "false"), None);
        let fault = sample.set_named("log.retention.hours", "soon").unwrap().unwrap_err();
        assert_eq!((&*fault.key, fault.reason.contains("'soon'")), ("log.retention.hours", true));
    }

    #[test]
    fn every_fault_is_reported_with_its_key_and_the_nearest_name() {
        let mut sample = Sample::default();
        let values = [("num.partition", "1"), ("num.partitions", "0"), ("num.partitions", "4")];
        let error = set_all(&mut sample, Sample::KEYS, values).unwrap_err().to_string();
        assert!(error.contains("did you mean 'num.partitions'"), "{error}");
        assert!(error.contains("'0'") && error.contains("from 1 to 2147483647"), "{error}");
        assert_eq!(sample.partitions, 4);
    }
}
