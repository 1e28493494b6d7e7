//! Kafka's APIs: their keys, and the first flexible version of each.
//!
//! The list is complete, so that a request for an unsupported API can be named in the log.

use std::fmt;

use super::WireError;

macro_rules! api_keys {
    ($($number:literal $name:ident flexible $flexible:expr,)*) => {
        /// The API of a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(i16)]
        pub enum ApiKey {
            $(
                #[doc = concat!("Key ", $number, ".")]
                $name = $number,
            )*
        }

        impl ApiKey {
            /// Every API, in order of their keys.
            #[cfg(any(test, feature = "internals"))]
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Kafka's name of the API.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// The first version with compact lengths and tagged fields.
            pub const fn first_flexible(self) -> i16 {
                match self {
                    $(Self::$name => $flexible,)*
                }
            }
        }

        impl TryFrom<i16> for ApiKey {
            type Error = WireError;

            fn try_from(number: i16) -> Result<Self, WireError> {
                match number {
                    $($number => Ok(Self::$name),)*
                    _ => Err(WireError::UnknownApi(number)),
                }
            }
        }
    };
}

/// The first flexible version of an API without any.
const NEVER: i16 = i16::MAX;

api_keys! {
    0 Produce flexible 9,
    1 Fetch flexible 12,
    2 ListOffsets flexible 6,
    3 Metadata flexible 9,
    4 LeaderAndIsr flexible 4,
    5 StopReplica flexible 2,
    6 UpdateMetadata flexible 6,
    7 ControlledShutdown flexible 3,
    8 OffsetCommit flexible 8,
    9 OffsetFetch flexible 6,
    10 FindCoordinator flexible 3,
    11 JoinGroup flexible 6,
    12 Heartbeat flexible 4,
    13 LeaveGroup flexible 4,
    14 SyncGroup flexible 4,
    15 DescribeGroups flexible 5,
    16 ListGroups flexible 3,
    17 SaslHandshake flexible NEVER,
    18 ApiVersions flexible 3,
    19 CreateTopics flexible 5,
    20 DeleteTopics flexible 4,
    21 DeleteRecords flexible 2,
    22 InitProducerId flexible 2,
    23 OffsetForLeaderEpoch flexible 4,
    24 AddPartitionsToTxn flexible 3,
    25 AddOffsetsToTxn flexible 3,
    26 EndTxn flexible 3,
    27 WriteTxnMarkers flexible 1,
    28 TxnOffsetCommit flexible 3,
    29 DescribeAcls flexible 2,
    30 CreateAcls flexible 2,
    31 DeleteAcls flexible 2,
    32 DescribeConfigs flexible 4,
    33 AlterConfigs flexible 2,
    34 AlterReplicaLogDirs flexible 2,
    35 DescribeLogDirs flexible 2,
    36 SaslAuthenticate flexible 2,
    37 CreatePartitions flexible 2,
    38 CreateDelegationToken flexible 2,
    39 RenewDelegationToken flexible 2,
    40 ExpireDelegationToken flexible 2,
    41 DescribeDelegationToken flexible 2,
    42 DeleteGroups flexible 2,
    43 ElectLeaders flexible 2,
    44 IncrementalAlterConfigs flexible 1,
    45 AlterPartitionReassignments flexible 0,
    46 ListPartitionReassignments flexible 0,
    47 OffsetDelete flexible NEVER,
    48 DescribeClientQuotas flexible 1,
    49 AlterClientQuotas flexible 1,
    50 DescribeUserScramCredentials flexible 0,
    51 AlterUserScramCredentials flexible 0,
    52 Vote flexible 0,
    53 BeginQuorumEpoch flexible 1,
    54 EndQuorumEpoch flexible 1,
    55 DescribeQuorum flexible 0,
    56 AlterPartition flexible 0,
    57 UpdateFeatures flexible 0,
    58 Envelope flexible 0,
    59 FetchSnapshot flexible 0,
    60 DescribeCluster flexible 0,
    61 DescribeProducers flexible 0,
    62 BrokerRegistration flexible 0,
    63 BrokerHeartbeat flexible 0,
    64 UnregisterBroker flexible 0,
    65 DescribeTransactions flexible 0,
    66 ListTransactions flexible 0,
    67 AllocateProducerIds flexible 0,
    68 ConsumerGroupHeartbeat flexible 0,
    69 ConsumerGroupDescribe flexible 0,
    70 ControllerRegistration flexible 0,
    71 GetTelemetrySubscriptions flexible 0,
    72 PushTelemetry flexible 0,
    73 AssignReplicasToDirs flexible 0,
    74 ListConfigResources flexible 0,
    75 DescribeTopicPartitions flexible 0,
    76 ShareGroupHeartbeat flexible 0,
    77 ShareGroupDescribe flexible 0,
    78 ShareFetch flexible 0,
    79 ShareAcknowledge flexible 0,
    80 AddRaftVoter flexible 0,
    81 RemoveRaftVoter flexible 0,
    82 UpdateRaftVoter flexible 0,
    83 InitializeShareGroupState flexible 0,
    84 ReadShareGroupState flexible 0,
    85 WriteShareGroupState flexible 0,
    86 DeleteShareGroupState flexible 0,
    87 ReadShareGroupStateSummary flexible 0,
    88 StreamsGroupHeartbeat flexible 0,
    89 StreamsGroupDescribe flexible 0,
    90 DescribeShareGroupOffsets flexible 0,
    91 AlterShareGroupOffsets flexible 0,
    92 DeleteShareGroupOffsets flexible 0,
}

impl ApiKey {
    /// The key of the API in the protocol.
    pub const fn number(self) -> i16 {
        self as i16
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_its_key_are_the_same_thing() {
        for number in i16::MIN..=i16::MAX {
            match ApiKey::try_from(number) {
                Ok(key) => assert_eq!(key.number(), number),
                Err(error) => assert_eq!(error, WireError::UnknownApi(number)),
            }
        }
        assert!(ApiKey::ALL.is_sorted());
        assert_eq!(ApiKey::ALL.len(), 93);
    }
}
