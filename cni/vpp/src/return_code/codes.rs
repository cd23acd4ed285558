//! VPP's return codes (`vnet/error.h`).

macro_rules! return_codes {
    ($($code:ident = $number:literal $name:literal,)*) => {
        /// A refusal, under the names of VPP's `vnet/error.h`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[allow(missing_docs, reason = "the names are VPP's, and say it")]
        pub enum ReturnCode {
            $($code,)*
            /// A number that has no name here.
            Other(i32),
        }

        impl From<i32> for ReturnCode {
            fn from(number: i32) -> Self {
                match number {
                    $($number => Self::$code,)*
                    other => Self::Other(other),
                }
            }
        }

        impl ReturnCode {
            /// Returns the number in `retval`.
            #[must_use]
            pub const fn number(self) -> i32 {
                match self {
                    $(Self::$code => $number,)*
                    Self::Other(number) => number,
                }
            }

            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)*
                    Self::Other(_) => "unknown return code",
                }
            }
        }
    };
}

return_codes! {
    Unspecified = -1 "UNSPECIFIED",
    InvalidSwIfIndex = -2 "INVALID_SW_IF_INDEX",
    NoSuchFib = -3 "NO_SUCH_FIB",
    NoSuchInnerFib = -4 "NO_SUCH_INNER_FIB",
    NoSuchLabel = -5 "NO_SUCH_LABEL",
    NoSuchEntry = -6 "NO_SUCH_ENTRY",
    InvalidValue = -7 "INVALID_VALUE",
    InvalidValue2 = -8 "INVALID_VALUE_2",
    Unimplemented = -9 "UNIMPLEMENTED",
    InvalidSwIfIndex2 = -10 "INVALID_SW_IF_INDEX_2",
    SyscallError1 = -11 "SYSCALL_ERROR_1",
    SyscallError2 = -12 "SYSCALL_ERROR_2",
    SyscallError3 = -13 "SYSCALL_ERROR_3",
    SyscallError4 = -14 "SYSCALL_ERROR_4",
    SyscallError5 = -15 "SYSCALL_ERROR_5",
    SyscallError6 = -16 "SYSCALL_ERROR_6",
    SyscallError7 = -17 "SYSCALL_ERROR_7",
    SyscallError8 = -18 "SYSCALL_ERROR_8",
    SyscallError9 = -19 "SYSCALL_ERROR_9",
    SyscallError10 = -20 "SYSCALL_ERROR_10",
    FeatureDisabled = -30 "FEATURE_DISABLED",
    InvalidRegistration = -31 "INVALID_REGISTRATION",
    NextHopNotInFib = -50 "NEXT_HOP_NOT_IN_FIB",
    UnknownDestination = -51 "UNKNOWN_DESTINATION",
    NoPathsInRoute = -52 "NO_PATHS_IN_ROUTE",
    NextHopNotFoundMp = -53 "NEXT_HOP_NOT_FOUND_MP",
    NoMatchingInterface = -54 "NO_MATCHING_INTERFACE",
    InvalidVlan = -55 "INVALID_VLAN",
    VlanAlreadyExists = -56 "VLAN_ALREADY_EXISTS",
    InvalidSrcAddress = -57 "INVALID_SRC_ADDRESS",
    InvalidDstAddress = -58 "INVALID_DST_ADDRESS",
    AddressLengthMismatch = -59 "ADDRESS_LENGTH_MISMATCH",
    AddressNotFoundForInterface = -60 "ADDRESS_NOT_FOUND_FOR_INTERFACE",
    AddressNotDeletable = -61 "ADDRESS_NOT_DELETABLE",
    Ip6NotEnabled = -62 "IP6_NOT_ENABLED",
    NoSuchNode = -63 "NO_SUCH_NODE",
    NoSuchNode2 = -64 "NO_SUCH_NODE2",
    NoSuchTable = -65 "NO_SUCH_TABLE",
    NoSuchTable2 = -66 "NO_SUCH_TABLE2",
    NoSuchTable3 = -67 "NO_SUCH_TABLE3",
    SubifAlreadyExists = -68 "SUBIF_ALREADY_EXISTS",
    SubifCreateFailed = -69 "SUBIF_CREATE_FAILED",
    InvalidMemorySize = -70 "INVALID_MEMORY_SIZE",
    InvalidInterface = -71 "INVALID_INTERFACE",
    InvalidVlanTagCount = -72 "INVALID_VLAN_TAG_COUNT",
    InvalidArgument = -73 "INVALID_ARGUMENT",
    UnexpectedIntfState = -74 "UNEXPECTED_INTF_STATE",
    TunnelExist = -75 "TUNNEL_EXIST",
    InvalidDecapNext = -76 "INVALID_DECAP_NEXT",
    ResponseNotReady = -77 "RESPONSE_NOT_READY",
    NotConnected = -78 "NOT_CONNECTED",
    IfAlreadyExists = -79 "IF_ALREADY_EXISTS",
    BondSlaveNotAllowed = -80 "BOND_SLAVE_NOT_ALLOWED",
    ValueExist = -81 "VALUE_EXIST",
    SameSrcDst = -82 "SAME_SRC_DST",
    Ip6MulticastAddressNotPresent = -83 "IP6_MULTICAST_ADDRESS_NOT_PRESENT",
    SrPolicyNameNotPresent = -84 "SR_POLICY_NAME_NOT_PRESENT",
    NotRunningAsRoot = -85 "NOT_RUNNING_AS_ROOT",
    AlreadyConnected = -86 "ALREADY_CONNECTED",
    UnsupportedJniVersion = -87 "UNSUPPORTED_JNI_VERSION",
    IpPrefixInvalid = -88 "IP_PREFIX_INVALID",
    InvalidWorker = -89 "INVALID_WORKER",
    LispDisabled = -90 "LISP_DISABLED",
    ClassifyTableNotFound = -91 "CLASSIFY_TABLE_NOT_FOUND",
    InvalidEidType = -92 "INVALID_EID_TYPE",
    CannotCreatePcapFile = -93 "CANNOT_CREATE_PCAP_FILE",
    IncorrectAdjacencyType = -94 "INCORRECT_ADJACENCY_TYPE",
    ExceededNumberOfRangesCapacity = -95 "EXCEEDED_NUMBER_OF_RANGES_CAPACITY",
    ExceededNumberOfPortsCapacity = -96 "EXCEEDED_NUMBER_OF_PORTS_CAPACITY",
    InvalidAddressFamily = -97 "INVALID_ADDRESS_FAMILY",
    InvalidSubSwIfIndex = -98 "INVALID_SUB_SW_IF_INDEX",
    TableTooBig = -99 "TABLE_TOO_BIG",
    CannotEnableDisableFeature = -100 "CANNOT_ENABLE_DISABLE_FEATURE",
    BfdEexist = -101 "BFD_EEXIST",
    BfdEnoent = -102 "BFD_ENOENT",
    BfdEinuse = -103 "BFD_EINUSE",
    BfdNotsupp = -104 "BFD_NOTSUPP",
    AddressInUse = -105 "ADDRESS_IN_USE",
    AddressNotInUse = -106 "ADDRESS_NOT_IN_USE",
    QueueFull = -107 "QUEUE_FULL",
    AppUnsupportedCfg = -108 "APP_UNSUPPORTED_CFG",
    UriFifoCreateFailed = -109 "URI_FIFO_CREATE_FAILED",
    LispRlocLocal = -110 "LISP_RLOC_LOCAL",
    BfdEagain = -111 "BFD_EAGAIN",
    InvalidGpeMode = -112 "INVALID_GPE_MODE",
    LispGpeEntriesPresent = -113 "LISP_GPE_ENTRIES_PRESENT",
    AddressFoundForInterface = -114 "ADDRESS_FOUND_FOR_INTERFACE",
    SessionConnect = -115 "SESSION_CONNECT",
    EntryAlreadyExists = -116 "ENTRY_ALREADY_EXISTS",
    SvmSegmentCreateFail = -117 "SVM_SEGMENT_CREATE_FAIL",
    ApplicationNotAttached = -118 "APPLICATION_NOT_ATTACHED",
    BdAlreadyExists = -119 "BD_ALREADY_EXISTS",
    BdInUse = -120 "BD_IN_USE",
    BdNotModifiable = -121 "BD_NOT_MODIFIABLE",
    BdIdExceedMax = -122 "BD_ID_EXCEED_MAX",
    SubifDoesntExist = -123 "SUBIF_DOESNT_EXIST",
    L2MacsEventClinetPresent = -124 "L2_MACS_EVENT_CLINET_PRESENT",
    InvalidQueue = -125 "INVALID_QUEUE",
    Unsupported = -126 "UNSUPPORTED",
    DuplicateIfAddress = -127 "DUPLICATE_IF_ADDRESS",
    AppInvalidNs = -128 "APP_INVALID_NS",
    AppWrongNsSecret = -129 "APP_WRONG_NS_SECRET",
    AppConnectScope = -130 "APP_CONNECT_SCOPE",
    AppAlreadyAttached = -131 "APP_ALREADY_ATTACHED",
    SessionRedirect = -132 "SESSION_REDIRECT",
    IllegalName = -133 "ILLEGAL_NAME",
    NoNameServers = -134 "NO_NAME_SERVERS",
    NameServerNotFound = -135 "NAME_SERVER_NOT_FOUND",
    NameResolutionNotEnabled = -136 "NAME_RESOLUTION_NOT_ENABLED",
    NameServerFormatError = -137 "NAME_SERVER_FORMAT_ERROR",
    NameServerNoSuchName = -138 "NAME_SERVER_NO_SUCH_NAME",
    NameServerNoAddresses = -139 "NAME_SERVER_NO_ADDRESSES",
    NameServerNextServer = -140 "NAME_SERVER_NEXT_SERVER",
    AppConnectFiltered = -141 "APP_CONNECT_FILTERED",
    AclInUseInbound = -142 "ACL_IN_USE_INBOUND",
    AclInUseOutbound = -143 "ACL_IN_USE_OUTBOUND",
    InitFailed = -144 "INIT_FAILED",
    NetlinkError = -145 "NETLINK_ERROR",
    BierBslUnsup = -146 "BIER_BSL_UNSUP",
    InstanceInUse = -147 "INSTANCE_IN_USE",
    InvalidSessionId = -148 "INVALID_SESSION_ID",
    AclInUseByLookupContext = -149 "ACL_IN_USE_BY_LOOKUP_CONTEXT",
    InvalidValue3 = -150 "INVALID_VALUE_3",
    NonEthernet = -151 "NON_ETHERNET",
    BdAlreadyHasBvi = -152 "BD_ALREADY_HAS_BVI",
    InvalidProtocol = -153 "INVALID_PROTOCOL",
    InvalidAlgorithm = -154 "INVALID_ALGORITHM",
    RsrcInUse = -155 "RSRC_IN_USE",
    KeyLength = -156 "KEY_LENGTH",
    FibPathUnsupportedNhProto = -157 "FIB_PATH_UNSUPPORTED_NH_PROTO",
    ApiEndianFailed = -159 "API_ENDIAN_FAILED",
    NoChange = -160 "NO_CHANGE",
    MissingCertKey = -161 "MISSING_CERT_KEY",
    LimitExceeded = -162 "LIMIT_EXCEEDED",
    IkeNoPort = -163 "IKE_NO_PORT",
    UdpPortTaken = -164 "UDP_PORT_TAKEN",
    Eagain = -165 "EAGAIN",
    InvalidValue4 = -166 "INVALID_VALUE_4",
    Busy = -167 "BUSY",
    Bug = -168 "BUG",
    FeatureAlreadyDisabled = -169 "FEATURE_ALREADY_DISABLED",
    FeatureAlreadyEnabled = -170 "FEATURE_ALREADY_ENABLED",
    InvalidPrefixLength = -171 "INVALID_PREFIX_LENGTH",
}
