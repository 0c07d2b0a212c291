//! Choices as words: how options are written on the command line, in Python and in messages.

/// Gives an enum its words: `text_form!(Kind, "kind", Kind::First = "first", …)`.
#[macro_export]
macro_rules! text_form {
    ($kind:ty, $what:literal, $($variant:path = $text:literal),+ $(,)?) => {
        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $($variant => $text),+ })
            }
        }

        impl std::str::FromStr for $kind {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                match text {
                    $($text => Ok($variant),)+
                    _ => Err($crate::Error::InvalidInput {
                        what: format!(
                            concat!("no ", $what, " is called `{}`; there is:", $(" ", $text),+),
                            text
                        ),
                    }),
                }
            }
        }
    };
}
