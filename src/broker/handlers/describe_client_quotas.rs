//! `DescribeClientQuotas`: always empty, since quotas are not supported.

use std::collections::HashSet;
use std::future::{Ready, ready};

use crate::broker::authorize::{Operation, Resource};
use crate::broker::call::Call;
use crate::broker::errors::Refusal;
use crate::wire::ErrorCode;
use crate::wire::describe_client_quotas::{
    Component, DescribeClientQuotasRequest, DescribeClientQuotasResponse, MATCH_ANY, MATCH_DEFAULT,
    MATCH_EXACT,
};

pub(crate) type Request = DescribeClientQuotasRequest;

/// Returns an empty list if the request is valid.
#[expect(clippy::needless_pass_by_value, reason = "every handler is handed its request")]
pub(crate) fn handle(call: &Call<'_>, request: Request) -> Ready<DescribeClientQuotasResponse> {
    let may = call.session.may(Operation::DescribeConfigs, Resource::Cluster);
    let checked = if may {
        check(&request.components)
    } else {
        Err(Refusal::of(ErrorCode::ClusterAuthorizationFailed))
    };
    ready(match checked {
        Ok(()) => DescribeClientQuotasResponse::default(),
        Err(refusal) => DescribeClientQuotasResponse {
            error_code: refusal.code,
            error_message: refusal.message,
            entries: None,
            ..DescribeClientQuotasResponse::default()
        },
    })
}

fn check(components: &[Component]) -> Result<(), Refusal> {
    let mut types = HashSet::new();
    for component in components {
        let entity = component.entity_type.as_str();
        if entity.is_empty() {
            let cause = "a component of the filter has no entity type";
            return Err(Refusal::because(ErrorCode::InvalidRequest, &cause));
        }
        if !matches!(entity, "user" | "client-id" | "ip") {
            let cause = format!("'{entity}' is not an entity type: user, client-id or ip");
            return Err(Refusal::because(ErrorCode::UnsupportedVersion, &cause));
        }
        let is_named = component.matched.is_some();
        let fits = match component.match_type {
            MATCH_EXACT => is_named,
            MATCH_DEFAULT | MATCH_ANY => !is_named,
            _ => false,
        };
        if !fits || !types.insert(entity) {
            let cause = format!("the component for '{entity}' is repeated, or has a wrong match");
            return Err(Refusal::because(ErrorCode::InvalidRequest, &cause));
        }
    }
    if types.contains("ip") && types.len() > 1 {
        let cause = "ip cannot be combined with user or client-id";
        return Err(Refusal::because(ErrorCode::InvalidRequest, &cause));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(entity_type: &str, match_type: i8, matched: Option<&str>) -> Component {
        let matched = matched.map(str::to_owned);
        Component { entity_type: entity_type.to_owned(), match_type, matched }
    }

    #[test]
    fn a_filter_has_each_entity_type_once_and_a_name_only_for_exact_matches() {
        let sound = [
            component("user", MATCH_EXACT, Some("u")),
            component("client-id", MATCH_DEFAULT, None),
        ];
        assert_eq!(check(&sound), Ok(()));
        assert_eq!(check(&[]), Ok(()));
        let twice = [component("user", MATCH_ANY, None), component("user", MATCH_ANY, None)];
        assert_eq!(check(&twice).unwrap_err().code, ErrorCode::InvalidRequest);
        for (kind, matched) in [(MATCH_EXACT, None), (MATCH_ANY, Some("u")), (9, None)] {
            let refusal = check(&[component("user", kind, matched)]).unwrap_err();
            assert_eq!(refusal.code, ErrorCode::InvalidRequest, "{kind} {matched:?}");
        }
        assert_eq!(check(&[component("ip", MATCH_ANY, None)]), Ok(()));
        let mixed = [component("user", MATCH_ANY, None), component("ip", MATCH_ANY, None)];
        assert_eq!(check(&mixed).unwrap_err().code, ErrorCode::InvalidRequest);
        let unsaid = check(&[component("", MATCH_ANY, None)]).unwrap_err();
        assert_eq!(unsaid.code, ErrorCode::InvalidRequest);
        let nobody = check(&[component("shoe", MATCH_ANY, None)]).unwrap_err();
        assert_eq!(nobody.code, ErrorCode::UnsupportedVersion);
    }
}
