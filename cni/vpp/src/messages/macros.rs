//! The macros for the tables of messages.

/// Defines messages that are neither a request with a reply nor a dump with details. `HEADER` is a
/// [`Header`](crate::wire::Header).
macro_rules! messages {
    ($table:ident, $plugin:expr; $(
        $(#[$attribute:meta])* $header:ident $struct:ident($name:expr, $crc:literal) {
            $($(#[$field_attribute:meta])* $field:ident: $type:ty,)*
        }
    )*) => {
        $(
            $(#[$attribute])*
            #[derive(Debug, Clone, Default, PartialEq, Eq)]
            #[allow(missing_docs, reason = "the fields are VPP's; its .api files describe them")]
            pub struct $struct { $($(#[$field_attribute])* pub $field: $type,)* }

            impl $crate::Message for $struct {
                const NAME: &'static str = $name;
                const CRC: &'static str = $crc;
                const NAME_CRC: &'static str = concat!($name, "_", $crc);
                const PLUGIN: Option<&'static str> = $plugin;
                const HEADER: $crate::wire::Header = $crate::wire::Header::$header;

                #[allow(unused_variables, reason = "a message without fields")]
                fn encode(&self, writer: &mut $crate::wire::Writer) {
                    $(writer.field(&self.$field);)*
                }

                #[allow(unused_variables, reason = "a message without fields")]
                fn decode(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::DecodeError> {
                    Ok(Self { $($field: reader.field(stringify!($field))?,)* })
                }
            }
        )*

        pub(super) const $table: &[$crate::messages::Descriptor] =
            &[$($crate::messages::Descriptor::of::<$struct>(),)*];
    };
}

/// Defines requests and their replies. The name of the reply is that of the request with `_reply`,
/// and `retval` is its first field.
macro_rules! requests {
    ($table:ident, $plugin:expr; $(
        $(#[$attribute:meta])* $request:ident($name:literal, $crc:literal) {
            $($(#[$field_attribute:meta])* $field:ident: $type:ty,)*
        } => $reply:ident($reply_crc:literal) {
            $($(#[$reply_attribute:meta])* $reply_field:ident: $reply_type:ty,)*
        }
    )*) => {
        $crate::messages::macros::messages! { $table, $plugin; $(
            $(#[$attribute])*
            ClientAndContext $request($name, $crc) { $($(#[$field_attribute])* $field: $type,)* }
            #[doc = concat!("The answer to [`", stringify!($request), "`].")]
            Context $reply(concat!($name, "_reply"), $reply_crc) {
                /// 0, or the code of a refusal.
                retval: i32,
                $($(#[$reply_attribute])* $reply_field: $reply_type,)*
            }
        )* }

        $(
            impl $crate::Request for $request {
                type Reply = $reply;
            }

            impl $crate::Reply for $reply {
                fn retval(&self) -> i32 {
                    self.retval
                }
            }
        )*
    };
}

/// Defines dumps and their details.
macro_rules! dumps {
    ($table:ident, $plugin:expr; $(
        $(#[$attribute:meta])* $dump:ident($name:literal, $crc:literal) {
            $($(#[$field_attribute:meta])* $field:ident: $type:ty,)*
        } => $details:ident($details_name:literal, $details_crc:literal) {
            $($(#[$details_attribute:meta])* $details_field:ident: $details_type:ty,)*
        }
    )*) => {
        $crate::messages::macros::messages! { $table, $plugin; $(
            $(#[$attribute])*
            ClientAndContext $dump($name, $crc) { $($(#[$field_attribute])* $field: $type,)* }
            #[doc = concat!("One of the answers to [`", stringify!($dump), "`].")]
            Context $details($details_name, $details_crc) {
                $($(#[$details_attribute])* $details_field: $details_type,)*
            }
        )* }

        $(
            impl $crate::Dump for $dump {
                type Details = $details;
            }
        )*
    };
}

pub(super) use {dumps, messages, requests};
