//! Reasons of UserspaceReservations.

use super::reasons;

reasons! {
    RESERVATION;
    RESERVED = "Reserved" {
        Reservation "Ready True": "pods of these names get the settings when they attach"
    }
    RESERVING = "Reserving" {
        Reservation "Ready Unknown": "the settings are not written for the nodes yet, or the network is not accepted"
        => "wait a few seconds; then see the conditions of the network"
    }
    NOT_ALLOWED = "NotAllowed" {
        Reservation "Ready False": "the network does not select the namespace, has no `spec.reservations`, or does not allow what the message names"
        => "use what the network allows, or ask who administers the network to extend spec.reservations or spec.namespaceSelector"
    }
    ALREADY_RESERVED = "AlreadyReserved" {
        Reservation "Ready False": "`spec.attachments` of the network, or a reservation that was Ready before or is older, has the pod, the address or the MAC address. Reservations of other namespaces are not named"
        => "use another pod, address or MAC address, or delete the other reservation"
    }
    TOO_MANY_RESERVATIONS = "TooManyReservations" {
        Reservation "Ready False": "the network has 256 reservations, or the namespace has its share: half of what others leave"
        => "delete some, or use one reservation for the pods of a StatefulSet"
    }
}
