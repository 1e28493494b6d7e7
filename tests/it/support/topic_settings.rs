//! The settings of the test's topic, as tools see and change them.

use streamlog::wire::ErrorCode;
use streamlog::wire::describe_configs::{self, DescribeConfigsRequest, RESOURCE_TOPIC};
use streamlog::wire::incremental_alter_configs::{
    self as alter, IncrementalAlterConfigsRequest, SET,
};

use super::{Connection, TOPIC};

/// Changes a setting; returns the error code and the message.
pub(crate) fn set_topic(client: &mut Connection, name: &str, value: &str) -> (ErrorCode, String) {
    let config = alter::RequestConfig {
        name: name.to_owned(),
        config_operation: SET,
        value: Some(value.to_owned()),
    };
    let resource = alter::RequestResource {
        resource_type: RESOURCE_TOPIC,
        resource_name: TOPIC.to_owned(),
        configs: vec![config],
    };
    let request =
        IncrementalAlterConfigsRequest { resources: vec![resource], validate_only: false };
    let answered = client.call(1, &request).unwrap().responses.remove(0);
    (answered.error_code, answered.error_message.unwrap_or_default())
}

/// A setting's value, and its source.
pub(crate) fn topic_setting(client: &mut Connection, topic: &str, name: &str) -> (String, i8) {
    let resource = describe_configs::RequestResource {
        resource_type: RESOURCE_TOPIC,
        resource_name: topic.to_owned(),
        configuration_keys: Some(vec![name.to_owned()]),
    };
    let request = DescribeConfigsRequest { resources: vec![resource], ..Default::default() };
    let config = client.call(4, &request).unwrap().results.remove(0).configs.remove(0);
    (config.value.unwrap(), config.config_source)
}
