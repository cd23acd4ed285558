//! Makes clients and servers of kubelet's device plugin API. Its messages are in
//! `src/agent/device_plugin/api.rs`, so that no compiler of protocol buffers is needed. Format:
//! <https://github.com/kubernetes/kubelet/blob/master/pkg/apis/deviceplugin/v1beta1/api.proto>

use tonic_build::manual::{Builder, Method, Service};

fn method(name: &str, route: &str, input: &str, output: &str) -> tonic_build::manual::MethodBuilder {
    let path = |message: &str| format!("crate::agent::device_plugin::api::{message}");
    Method::builder()
        .name(name)
        .route_name(route)
        .input_type(path(input))
        .output_type(path(output))
        .codec_path("tonic_prost::ProstCodec")
}

fn main() {
    let registration = Service::builder()
        .name("Registration")
        .package("v1beta1")
        .method(method("register", "Register", "RegisterRequest", "Empty").build())
        .build();
    let watch = method("list_and_watch", "ListAndWatch", "Empty", "ListAndWatchResponse").server_streaming();
    let preferred = ("PreferredAllocationRequest", "PreferredAllocationResponse");
    let started = ("PreStartContainerRequest", "PreStartContainerResponse");
    let device_plugin = Service::builder()
        .name("DevicePlugin")
        .package("v1beta1")
        .method(method("get_device_plugin_options", "GetDevicePluginOptions", "Empty", "DevicePluginOptions").build())
        .method(watch.build())
        .method(method("get_preferred_allocation", "GetPreferredAllocation", preferred.0, preferred.1).build())
        .method(method("allocate", "Allocate", "AllocateRequest", "AllocateResponse").build())
        .method(method("pre_start_container", "PreStartContainer", started.0, started.1).build())
        .build();
    Builder::new().build_transport(false).compile(&[registration, device_plugin]);
}
