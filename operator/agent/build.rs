//! Generates clients and servers of kubelet's APIs for devices. Their messages are in
//! `src/device_plugin/api.rs` and `src/claims/api.rs`, so that no compiler of protocol buffers is
//! needed. Format of the first:
//! <https://github.com/kubernetes/kubelet/blob/master/pkg/apis/deviceplugin/v1beta1/api.proto>

use tonic_build::manual::{Builder, Method, MethodBuilder, Service};

fn method(name: &str, route: &str, input: &str, output: &str) -> MethodBuilder {
    method_of("device_plugin", name, route, input, output)
}

fn method_of(module: &str, name: &str, route: &str, input: &str, output: &str) -> MethodBuilder {
    let path = |message: &str| format!("crate::{module}::api::{message}");
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
    let [plugins, claims, health] = resource_claims();
    let all = [registration, device_plugin, plugins, claims, health];
    Builder::new().build_transport(false).compile(&all);
}

fn resource_claims() -> [Service; 3] {
    let method = |name, route, input, output| method_of("claims", name, route, input, output);
    let status = ("RegistrationStatus", "RegistrationStatusResponse");
    let registration = Service::builder()
        .name("Registration")
        .package("pluginregistration")
        .method(method("get_info", "GetInfo", "InfoRequest", "PluginInfo").build())
        .method(method("notify_registration_status", "NotifyRegistrationStatus", status.0, status.1).build());
    let prepare = ("NodePrepareResourcesRequest", "NodePrepareResourcesResponse");
    let unprepare = ("NodeUnprepareResourcesRequest", "NodeUnprepareResourcesResponse");
    let plugin = Service::builder()
        .name("DRAPlugin")
        .package("k8s.io.kubelet.pkg.apis.dra.v1")
        .method(method("node_prepare_resources", "NodePrepareResources", prepare.0, prepare.1).build())
        .method(method("node_unprepare_resources", "NodeUnprepareResources", unprepare.0, unprepare.1).build());
    let watch = ("NodeWatchResourcesRequest", "NodeWatchResourcesResponse");
    let watch = method("node_watch_resources", "NodeWatchResources", watch.0, watch.1).server_streaming();
    let health = Service::builder().name("DRAResourceHealth").package("v1alpha1").method(watch.build());
    [registration.build(), plugin.build(), health.build()]
}
