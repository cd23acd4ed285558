//! The macros for structures, enums and flags of VPP.

/// Defines a structure within a message.
macro_rules! structure {
    ($(#[$attribute:meta])* $name:ident { $($(#[$field_attribute:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub struct $name { $($(#[$field_attribute])* pub $field: $type,)* }

        impl $crate::wire::Field for $name {
            const MIN_SIZE: usize = 0 $(+ <$type as $crate::wire::Field>::MIN_SIZE)*;

            fn encode(&self, writer: &mut $crate::wire::Writer) {
                $(writer.field(&self.$field);)*
            }

            fn decode(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::DecodeError> {
                Ok(Self { $($field: reader.field(stringify!($field))?,)* })
            }
        }
    };
}

/// Defines an enum of VPP, of 32 bits by default. Unknown numbers are kept: a newer VPP may have
/// more.
macro_rules! open_enum {
    ($(#[$attribute:meta])* $name:ident { $($variants:tt)* }) => {
        $crate::wire::open_enum! { $(#[$attribute])* $name: u32 { $($variants)* } }
    };
    ($(#[$attribute:meta])* $name:ident: $number_type:ty {
        $(#[$first_attribute:meta])* $first:ident = $first_number:literal,
        $($(#[$variant_attribute:meta])* $variant:ident = $number:literal,)*
    }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $(#[$first_attribute])*
            #[default]
            $first,
            $($(#[$variant_attribute])* $variant,)*
            Other($number_type),
        }

        impl $crate::wire::Field for $name {
            const MIN_SIZE: usize = <$number_type as $crate::wire::Field>::MIN_SIZE;

            fn encode(&self, writer: &mut $crate::wire::Writer) {
                let number: $number_type = match self {
                    Self::$first => $first_number,
                    $(Self::$variant => $number,)*
                    Self::Other(number) => *number,
                };
                writer.field(&number);
            }

            fn decode(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::DecodeError> {
                Ok(match <$number_type as $crate::wire::Field>::decode(reader)? {
                    $first_number => Self::$first,
                    $($number => Self::$variant,)*
                    number => Self::Other(number),
                })
            }
        }
    };
}

/// Defines a set of bits of VPP, of 32 bits.
macro_rules! flags {
    ($(#[$attribute:meta])* $name:ident { $($(#[$flag_attribute:meta])* $flag:ident = $bits:expr,)* }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            $($(#[$flag_attribute])* pub const $flag: Self = Self($bits);)*

            /// Whether all bits of `other` are set.
            #[must_use]
            pub const fn contains(self, other: Self) -> bool {
                self.0 & other.0 == other.0
            }
        }

        impl std::ops::BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }

        impl $crate::wire::Field for $name {
            const MIN_SIZE: usize = <u32 as $crate::wire::Field>::MIN_SIZE;

            fn encode(&self, writer: &mut $crate::wire::Writer) {
                writer.field(&self.0);
            }

            fn decode(reader: &mut $crate::wire::Reader<'_>) -> Result<Self, $crate::wire::DecodeError> {
                <u32 as $crate::wire::Field>::decode(reader).map(Self)
            }
        }
    };
}

pub(crate) use {flags, open_enum, structure};
