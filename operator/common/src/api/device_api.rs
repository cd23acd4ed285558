//! Kinds of `resource.k8s.io/v1`, dynamic resource allocation, as far as usnet reads or writes
//! them. The version of `k8s-openapi` that is in use is of an older Kubernetes and has none of
//! them.

/// The name of usnet's driver.
pub const DRIVER: &str = "usnet.dev";

/// Makes a struct with the field `metadata` a kind of the group.
#[macro_export]
macro_rules! device_api_kind {
    ($kind:ident, $plural:literal, $scope:ty) => {
        impl kube::Resource for $kind {
            type DynamicType = ();
            type Scope = $scope;

            fn kind(_: &()) -> std::borrow::Cow<'_, str> {
                stringify!($kind).into()
            }
            fn group(_: &()) -> std::borrow::Cow<'_, str> {
                "resource.k8s.io".into()
            }
            fn version(_: &()) -> std::borrow::Cow<'_, str> {
                "v1".into()
            }
            fn plural(_: &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }
            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
pub use device_api_kind;
