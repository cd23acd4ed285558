//! Generates the servers of KubeVirt's hooks. Their messages are in `src/api.rs`, so that no
//! compiler of protocol buffers is needed.

use tonic_build::manual::{Builder, Method, Service};

fn method(name: &str, route: &str, input: &str, output: &str) -> Method {
    let path = |message: &str| format!("crate::api::{message}");
    Method::builder()
        .name(name)
        .route_name(route)
        .input_type(path(input))
        .output_type(path(output))
        .codec_path("tonic_prost::ProstCodec")
        .build()
}

fn main() {
    let info = Service::builder().name("Info").package("kubevirt.hooks.info");
    let callbacks = Service::builder()
        .name("Callbacks")
        .package("kubevirt.hooks.v1alpha3")
        .method(method("on_define_domain", "OnDefineDomain", "OnDefineDomainParams", "OnDefineDomainResult"))
        .method(method("pre_cloud_init_iso", "PreCloudInitIso", "PreCloudInitIsoParams", "PreCloudInitIsoResult"))
        .method(method("shutdown", "Shutdown", "ShutdownParams", "ShutdownResult"));
    let info = info.method(method("info", "Info", "InfoParams", "InfoResult"));
    Builder::new().build_transport(false).compile(&[info.build(), callbacks.build()]);
}
