// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/docket-project/docket/controller/internal/cache/objects"
	"github.com/docket-project/docket/controller/internal/files/convert"
	"github.com/docket-project/docket/controller/internal/files/convert/proof"
	"github.com/docket-project/docket/controller/internal/files/filescan"
	"github.com/docket-project/docket/controller/internal/files/manifest"
	"github.com/docket-project/docket/controller/internal/policy"
	"github.com/docket-project/docket/controller/internal/policy/kyverno"
	"github.com/docket-project/docket/controller/internal/policy/kyverno/base"
	"github.com/docket-project/docket/internal/kit/testkit"
)

// object reads an object.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	set, err := (&manifest.Loader{Stdin: strings.NewReader(text)}).Load(manifest.Stdin)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return set.Objects[0].Unstructured
}

// withRule returns a policy with one rule, of which the name and, unless it has one, a match block for pods are added.
func withRule(t *testing.T, rule string) *unstructured.Unstructured {
	t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(rule), &fields); err != nil {
		t.Fatalf("%v in\n%s", err, rule)
	}
	p := object(t, "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: {rules: [{name: r, match: {any: [{resources: {kinds: [Pod]}}]}}]}}")
	rules, _ := testkit.Must2(unstructured.NestedSlice(p.Object, "spec", "rules"))(t)
	for key, value := range fields {
		rules[0].(map[string]any)[key] = value
	}
	testkit.NoError(t, unstructured.SetNestedSlice(p.Object, rules, "spec", "rules"))
	return p
}

func options() convert.Options {
	return convert.Options{Plural: objects.Plural}
}

func compiler(t *testing.T) policy.Compiler {
	t.Helper()
	return testkit.Must(kyverno.NewCompiler(base.Config{ExceptionNamespaces: []string{policy.AllNamespaces}, CompatibleOperands: true}))(t)
}

// pods are the resources of most comparisons: enough for each part of a pattern to be there and not to be there.
const pods = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {env: prod}}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, labels: {app: web, app.kubernetes.io/name: web}, annotations: {owner: me, example.com/a: "1"}}
spec:
  hostNetwork: true
  volumes: [{name: v, hostPath: {path: /x}}, {name: e, emptyDir: {}}]
  securityContext: {runAsNonRoot: true, supplementalGroups: [150, 700]}
  initContainers: [{name: i, image: "reg.io/i:1.2"}]
  containers:
  - {name: a, image: "nginx:latest", imagePullPolicy: Always, ports: [{containerPort: 80, hostPort: 0}], resources: {limits: {memory: 1Gi, cpu: 500m}, requests: {memory: 1Gi}}, securityContext: {privileged: false, capabilities: {drop: [ALL], add: [NET_ADMIN]}}}
  - {name: b, image: "reg.io/b:1", env: [{name: X, value: y}], livenessProbe: {periodSeconds: 10}}
---
{apiVersion: v1, kind: Pod, metadata: {name: bare}, spec: {containers: [{name: c, image: busybox}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {hostNetwork: false, containers: [{name: a, image: "nginx:1", resources: {limits: {memory: 100Mi}}}]}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: job, namespace: kube-system}
spec: {schedule: "@daily", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "reg.io/a:latest"}]}}}}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: all}, rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}, {apiGroups: [""], resources: [pods, secrets], verbs: [get]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: none}, rules: null}
---
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: shop}, spec: {type: NodePort, ports: [{port: 80, nodePort: 30000}]}}
`

// resources reads objects and makes variants of them.
func resources(t *testing.T, text string, variants int) *filescan.Files {
	t.Helper()
	set := testkit.Must((&manifest.Loader{Stdin: strings.NewReader(text)}).Load(manifest.Stdin))(t)
	objects := set.Objects
	for _, one := range set.Objects {
		objects = append(objects, proof.Mutants(one, variants)...)
	}
	return filescan.NewFiles(objects, filescan.FilesOptions{})
}

// prove converts a policy and compares the results. All rules must be converted.
func prove(t *testing.T, old *unstructured.Unstructured, exceptions ...*unstructured.Unstructured) []proof.Comparison {
	t.Helper()
	c := compiler(t)
	result := convert.Policy(old, options())
	compiled := []policy.Policy{c.Compile(old, exceptions)}
	var converted []*unstructured.Unstructured
	for _, exception := range exceptions {
		one := testkit.Must(convert.Exception(exception, []convert.Result{result}, options()))(t)
		converted = append(converted, one)
	}
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	for _, rule := range result.Rules {
		if rule.Err != nil {
			t.Fatal(rule.Err)
		}
		one := c.Compile(rule.Policy, converted)
		testkit.NoError(t, errors.Join(one.Problem(), one.Doubt()))
		compiled = append(compiled, one)
	}
	comparisons := testkit.Must(proof.Compare(t.Context(), resources(t, pods, 80), compiled, []convert.Result{result}, filescan.Options{Workers: 1}))(t)
	return comparisons[result.Old]
}

// TestSameResults: the old and the new policy have the same results for many variants of resources.
func TestSameResults(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]string{
		// Patterns.
		"truth":                     `validate: {pattern: {spec: {hostNetwork: false}}}`,
		"equality anchors":          `validate: {pattern: {spec: {=(hostNetwork): false, =(volumes): [{X(hostPath): "null"}]}}}`,
		"conditional anchor":        `validate: {pattern: {spec: {containers: [{(image): "*:latest", imagePullPolicy: Always}]}}}`,
		"condition beside the list": `validate: {pattern: {spec: {(hostNetwork): true, containers: [{image: "reg.io/*"}]}}}`,
		"conditions side by side":   `validate: {pattern: {spec: {containers: [{(name): "a|b", (image): "nginx*", imagePullPolicy: Always}]}}}`,
		"anchors of all types":      `validate: {pattern: {spec: {containers: [{(name): "a", =(resources): {limits: {memory: "?*"}}, X(command): "null", securityContext: {privileged: false}}]}}}`,
		"global anchor":             `validate: {pattern: {metadata: {labels: {<(app): web}}, spec: {containers: [{image: "nginx*"}]}}}`,
		"existence anchor":          `validate: {pattern: {spec: {^(containers): [{image: "nginx*"}]}}}`,
		"nothing":                   `validate: {pattern: {spec: {containers: [{command: null}]}}}`,
		"quantity":                  `validate: {pattern: {spec: {containers: [{resources: {limits: {memory: "<=512Mi"}}}]}}}`,
		"quantities":                `validate: {pattern: {spec: {containers: [{=(resources): {=(limits): {=(cpu): "100m-1 | !500m"}}}]}}}`,
		"numbers":                   `validate: {pattern: {spec: {containers: [{=(ports): [{=(hostPort): 0, containerPort: "1-100"}]}]}}}`,
		"wildcards":                 `validate: {pattern: {spec: {containers: [{image: "reg.io/?* | nginx:?* & !*:latest"}]}}}`,
		"elements of a list":        `validate: {pattern: {spec: {=(securityContext): {=(supplementalGroups): "100-200 | 500-600"}}}}`,
		"list of texts":             `validate: {pattern: {spec: {containers: [{securityContext: {capabilities: {drop: [ALL]}}}]}}}`,
		"labels with wildcards":     `validate: {pattern: {metadata: {labels: {"app.kubernetes.io/*": "?*"}}}}`,
		"any of patterns":           `validate: {anyPattern: [{spec: {securityContext: {runAsNonRoot: true}}}, {spec: {containers: [{securityContext: {runAsNonRoot: true}}]}}]}`,
		"any of conditional ones":   `validate: {anyPattern: [{spec: {(hostNetwork): true, volumes: "*"}}, {spec: {containers: [{(image): "*:latest", name: a}]}}]}`,
		// Conditions.
		"equals":             `validate: {deny: {conditions: {all: [{key: "{{ request.object.spec.hostNetwork || 'false' }}", operator: Equals, value: true}]}}}`,
		"default":            `validate: {deny: {conditions: {any: [{key: "{{ request.object.spec.serviceAccountName || 'default' }}", operator: NotEquals, value: "d*"}]}}}`,
		"missing":            `validate: {deny: {conditions: {all: [{key: "{{ request.object.metadata.labels.app }}", operator: Equals, value: web}]}}}`,
		"projection":         `validate: {deny: {conditions: {any: [{key: "{{ request.object.spec.volumes[].hostPath.path }}", operator: AnyIn, value: ["/x", "/etc*"]}]}}}`,
		"concatenation":      `validate: {deny: {conditions: {any: [{key: "{{ request.object.spec.[containers, initContainers][].image }}", operator: AnyNotIn, value: ["nginx*", "reg.io/*"]}]}}}`,
		"all of them":        `validate: {deny: {conditions: {any: [{key: "{{ request.object.spec.containers[].ports[].containerPort }}", operator: AllIn, value: ["80", "81"]}]}}}`,
		"filter":             `validate: {deny: {conditions: {any: [{key: "{{ request.object.spec.containers[?name=='a'].image }}", operator: AllNotIn, value: "nginx*"}]}}}`,
		"length":             `validate: {deny: {conditions: {any: [{key: "{{ length(request.object.spec.containers) }}", operator: GreaterThan, value: 1}]}}}`,
		"range":              `validate: {deny: {conditions: {any: [{key: "{{ request.object.spec.containers[].ports[].containerPort || ` + "`[]`" + ` }}", operator: AnyIn, value: 1-100}]}}}`,
		"keys":               `validate: {deny: {conditions: {any: [{key: "{{ keys(request.object.metadata.annotations || ` + "`{}`" + `) }}", operator: AnyIn, value: ["example.com/*"]}]}}}`,
		"text of parts":      `validate: {deny: {conditions: {any: [{key: "{{ request.object.metadata.namespace }}/{{ request.object.metadata.name }}", operator: Equals, value: "shop/web"}]}}}`,
		"literal key":        `validate: {deny: {conditions: {any: [{key: [ALL, NET_RAW], operator: AnyNotIn, value: "{{ request.object.spec.containers[].securityContext.capabilities.drop[] || ` + "`[]`" + ` }}"}]}}}`,
		"variable in a text": `validate: {deny: {conditions: {any: [{key: "{{ request.object.spec.containers[?name == '{{ request.namespace }}'] | length(@) }}", operator: Equals, value: 0}]}}}`,
		"context variable":   `{context: [{name: c, variable: {jmesPath: "request.object.spec.containers[].name", default: []}}], validate: {deny: {conditions: {any: [{key: "{{ c }}", operator: AnyIn, value: [a]}]}}}}`,
		"preconditions":      `{preconditions: {all: [{key: "{{ request.object.metadata.labels.app || '' }}", operator: Equals, value: web}]}, validate: {pattern: {spec: {hostNetwork: false}}}}`,
		"operations":         `{preconditions: {all: [{key: "{{ request.operation || 'BACKGROUND' }}", operator: NotEquals, value: DELETE}]}, validate: {deny: {}}}`,
		// Loops.
		"loop":                `validate: {foreach: [{list: "request.object.spec.containers", pattern: {image: "*:?*"}}]}`,
		"loop with condition": `validate: {foreach: [{list: "request.object.spec.[initContainers, containers][]", preconditions: {all: [{key: "{{ element.securityContext.privileged }}", operator: Equals, value: false}]}, deny: {conditions: {all: [{key: ALL, operator: AnyNotIn, value: "{{ element.securityContext.capabilities.drop[] || ` + "`[]`" + ` }}"}]}}}]}`,
		"loop in a loop":      `validate: {foreach: [{list: "request.object.spec.containers", foreach: [{list: "element.ports", deny: {conditions: {any: [{key: "{{ element.hostPort || ` + "`0`" + ` }}", operator: NotEquals, value: 0}]}}}]}]}`,
		"skipping loop":       `validate: {foreach: [{list: "request.object.spec.volumes", pattern: {(hostPath): {path: "?*"}, name: v}}]}`,
		"rules":               `{match: {any: [{resources: {kinds: [ClusterRole]}}]}, validate: {foreach: [{list: "request.object.rules", deny: {conditions: {all: [{key: "{{ element.verbs }}", operator: AnyIn, value: [create]}]}}}]}}`,
		// Match blocks.
		"namespaces":         `{match: {any: [{resources: {kinds: [Pod], namespaces: ["sho?", x]}}]}, validate: {pattern: {spec: {hostNetwork: false}}}}`,
		"names":              `{match: {any: [{resources: {kinds: [Pod, Service], names: ["w*", s]}}]}, validate: {deny: {}}}`,
		"selectors":          `{match: {any: [{resources: {kinds: [Pod], selector: {matchLabels: {app: "w*"}, matchExpressions: [{key: x, operator: DoesNotExist}]}}}]}, validate: {deny: {}}}`,
		"annotations":        `{match: {any: [{resources: {kinds: [Pod], annotations: {owner: "?*", "example.com/*": "1"}}}]}, validate: {deny: {}}}`,
		"namespace selector": `{match: {any: [{resources: {kinds: [Pod], namespaceSelector: {matchExpressions: [{key: env, operator: In, values: [prod]}]}}}]}, validate: {deny: {}}}`,
		"kinds apart":        `{match: {any: [{resources: {kinds: [Pod], names: [web]}}, {resources: {kinds: [Service]}}]}, validate: {deny: {}}}`,
		"exclusion":          `{exclude: {any: [{resources: {namespaces: [kube-system, default]}}, {resources: {kinds: [Pod], namespaceSelector: {matchLabels: {env: dev}}}}]}, validate: {pattern: {spec: {hostNetwork: false}}}}`,
		"exclusion of both":  `{exclude: {all: [{resources: {namespaces: [shop]}}, {resources: {namespaces: ["s*"]}}]}, validate: {pattern: {spec: {hostNetwork: false}}}}`,
		"every kind":         `{match: {any: [{resources: {kinds: ["*"], namespaces: [shop]}}]}, validate: {deny: {}}}`,
		"namespace itself":   `{match: {any: [{resources: {kinds: [Namespace, Pod], namespaces: [shop]}}]}, validate: {deny: {}}}`,
		// CEL.
		"CEL": `{celPreconditions: [{name: web, expression: "request.namespace == 'shop'"}], validate: {message: bad, cel: {variables: [{name: count, expression: object.spec.containers.size()}], expressions: [{expression: variables.count < 2}]}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			comparisons := prove(t, withRule(t, rule))
			if len(comparisons) != 1 || comparisons[0].Equal == 0 || comparisons[0].Equal == comparisons[0].Skipped {
				t.Fatalf("%+v: nothing is proven", comparisons)
			}
			for i, difference := range comparisons[0].Differences {
				if i < 5 {
					t.Error(difference)
				}
			}
		})
	}
}

// TestRefusals name the field, the reason and what to do.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ rule, field, text string }{
		"mutation":             {`{mutate: {patchStrategicMerge: {}}}`, "spec.rules[0].mutate", "MutatingPolicy"},
		"generation":           {`{generate: {kind: ConfigMap}}`, "spec.rules[0].generate", "GeneratingPolicy"},
		"images":               {`{verifyImages: [{imageReferences: [x]}]}`, "spec.rules[0].verifyImages", "ImageValidatingPolicy"},
		"pod security":         {`{validate: {podSecurity: {level: baseline}}}`, "spec.rules[0].validate.podSecurity", "Pod Security Admission"},
		"actions by namespace": {`{validate: {failureActionOverrides: [{action: Audit, namespaces: [x]}], pattern: {spec: {a: b}}}}`, "spec.rules[0].validate.failureActionOverrides", "namespaceSelector"},
		"roles":                {`{exclude: {any: [{clusterRoles: [cluster-admin]}]}, validate: {deny: {}}}`, "spec.rules[0].exclude[0]", "subjects"},
		"no kinds":             {`{match: {any: [{resources: {names: [x]}}]}, validate: {deny: {}}}`, "spec.rules[0].match", "name the kinds"},
		"variable in pattern":  {`{validate: {pattern: {spec: {a: "{{ request.namespace }}"}}}}`, "spec.rules[0].validate.pattern.spec.a", "validate.deny"},
		"images variable":      {`{validate: {deny: {conditions: {all: [{key: "{{ images.containers.x.registry }}", operator: Equals, value: y}]}}}}`, "spec.rules[0].validate.deny.conditions.all[0].key", "image()"},
		"function":             {`{validate: {deny: {conditions: {all: [{key: "{{ semver_compare('1', '2') }}", operator: Equals, value: y}]}}}}`, "spec.rules[0].validate.deny.conditions.all[0].key", "semver_compare"},
		"other fields of pods": {`{validate: {pattern: {status: {phase: Running}}}}`, "spec.rules[0].validate.pattern.status", "autogen-controllers"},
		"deletions apart":      {`{preconditions: {all: [{key: "{{ request.operation }}", operator: Equals, value: DELETE}]}, validate: {deny: {}}}`, "spec.rules[0].preconditions", "name the operations"},
		"service":              {`{context: [{name: c, apiCall: {service: {url: "https://x"}}}], validate: {deny: {}}}`, "spec.rules[0].context[0].apiCall.service", "http.Get"},
		"registry":             {`{context: [{name: c, imageRegistry: {reference: x}}], validate: {deny: {}}}`, "spec.rules[0].context[0]", "image.GetMetadata"},
		"parameters":           {`{validate: {cel: {paramKind: {apiVersion: v1, kind: ConfigMap}, paramRef: {name: x}, expressions: [{expression: "true"}]}}}`, "spec.rules[0].validate.cel.paramKind", "resource.Get"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := convert.Policy(withRule(t, test.rule), options())
			if result.Err != nil || result.Complete() {
				t.Fatalf("it is converted, or the whole policy is refused: %v", result.Err)
			}
			var refused *convert.Error
			if err := result.Rules[0].Err; !errors.As(err, &refused) || refused.Field != test.field || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%v; want the field %s and %q", err, test.field, test.text)
			}
		})
	}
}

// TestRefusedPolicies: what concerns all rules.
func TestRefusedPolicies(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{}": "spec.rules: it is empty",
		"{applyRules: One, rules: [{name: a, match: {}, validate: {deny: {}}}, {name: b, match: {}, validate: {deny: {}}}]}":          "spec.applyRules",
		"{validationFailureActionOverrides: [{action: Audit, namespaces: [x]}], rules: [{name: a, match: {}, validate: {deny: {}}}]}": "spec.validationFailureActionOverrides",
		"{moon: full, rules: [{name: a, match: {}, validate: {deny: {}}}]}":                                                           "moon",
	} {
		result := convert.Policy(object(t, "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: p}, spec: "+text+"}"), options())
		if result.Err == nil || !strings.Contains(result.Err.Error(), want) || result.Complete() || len(result.Converted()) > 0 {
			t.Errorf("%s: %v; want %q", text, result.Err, want)
		}
	}
}

// TestWhatIsKept: everything beside the check that results and the API server depend on.
func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	result := convert.Policy(object(t, `
apiVersion: kyverno.io/v1
kind: Policy
metadata:
  name: p
  namespace: shop
  labels: {team: a}
  annotations:
    policies.kyverno.io/severity: high
    policies.kyverno.io/scored: "false"
    pod-policies.kyverno.io/autogen-controllers: Deployment,CronJob
    kubectl.kubernetes.io/last-applied-configuration: "{}"
spec:
  background: false
  failurePolicy: Ignore
  webhookTimeoutSeconds: 7
  emitWarning: true
  webhookConfiguration: {matchConditions: [{name: mine, expression: "true"}]}
  rules:
  - name: First rule!
    match: {any: [{resources: {kinds: [Pod], operations: [CREATE]}}]}
    validate: {failureAction: Enforce, message: "{{ request.object.metadata.name }} is bad", pattern: {spec: {hostNetwork: false}}}
  - name: second
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: bad, pattern: {spec: {hostNetwork: false}}}
`), options())
	if !result.Complete() || len(result.Converted()) != 2 {
		t.Fatalf("%+v", result)
	}
	want := object(t, `
apiVersion: policies.kyverno.io/v1
kind: NamespacedValidatingPolicy
metadata:
  name: p-first-rule
  namespace: shop
  labels: {team: a}
  annotations: {policies.kyverno.io/severity: high, policies.kyverno.io/scored: "false"}
spec:
  failurePolicy: Ignore
  webhookConfiguration: {timeoutSeconds: 7}
  evaluation: {background: {enabled: false}}
  validationActions: [Deny]
  autogen: {podControllers: {controllers: [deployments, cronjobs]}}
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}]
  matchConditions: [{name: mine, expression: "true"}]
  validations:
  - expression: object.spec.?hostNetwork.orValue(null) == false
    # The template of a pod may have no metadata.
    messageExpression: 'string((has(object.metadata) ? object.metadata : {}).name) + " is bad"'
`)
	testkit.NoDiff(t, cmp.Diff(want.Object, result.Converted()[0].Object), "-want +got")
	if notes := strings.Join(result.Rules[0].Notes, "\n"); !strings.Contains(notes, "allowExistingViolations") {
		t.Errorf("notes: %s", notes)
	}
	second := result.Converted()[1]
	if actions, _, err := unstructured.NestedStringSlice(second.Object, "spec", "validationActions"); err != nil || strings.Join(actions, ",") != "Audit,Warn" || second.GetName() != "p-second" {
		t.Errorf("%s: actions %v, %v", second.GetName(), actions, err)
	}
}

// TestLines: a long expression has a line for each operand, and parentheses where they are needed.
func TestLines(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]string{
		`validate: {pattern: {spec: {=(hostIPC): "false", =(hostNetwork): "false"}}}`: `(!has(object.spec.hostIPC) || string(object.spec.hostIPC) == "false") &&
(!has(object.spec.hostNetwork) || string(object.spec.hostNetwork) == "false")`,
		`validate: {pattern: {spec: {containers: [{name: "a*", image: "?*"}]}}}`: `has(object.spec.containers) &&
object.spec.containers.all(container, string(container.?image.orValue("")) != "" && string(container.?name.orValue("")).startsWith("a"))`,
		`validate: {pattern: {metadata: {labels: {app/name: web | api, in: "!x"}}}}`: `(has(object.metadata) ? object.metadata : {}).?labels[?"app/name"].orValue(null) in ["web", "api"] &&
(has(object.metadata) ? object.metadata : {}).?labels[?"in"].hasValue() &&
!(string((has(object.metadata) ? object.metadata : {}).labels["in"]) == "x")`,
	} {
		converted := convert.Policy(withRule(t, rule), options()).Converted()
		if len(converted) != 1 {
			t.Fatalf("%s is not converted", rule)
		}
		validations, _, err := unstructured.NestedSlice(converted[0].Object, "spec", "validations")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, validations[0].(map[string]any)["expression"]); diff != "" {
			t.Errorf("%s: -want +got\n%s", rule, diff)
		}
	}
}

// TestExceptions: what was excepted still is, and nothing else.
func TestExceptions(t *testing.T) {
	t.Parallel()
	old := withRule(t, `validate: {pattern: {spec: {hostNetwork: "false"}}}`)
	const head = "{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: e, namespace: x}, spec: {exceptions: [{policyName: p, ruleNames: ["
	for names, match := range map[string]string{
		"r":                "{any: [{resources: {kinds: [Pod], namespaces: [shop]}}]}",
		"r, autogen-r":     "{any: [{resources: {kinds: [Deployment, Pod], names: [web]}}]}",
		"'*'":              "{any: [{resources: {kinds: [Pod, CronJob]}}]}",
		"autogen-*":        "{all: [{resources: {kinds: [Deployment]}}, {resources: {kinds: [Deployment], selector: {matchLabels: {app: web}}}}]}",
		"autogen-cronjob*": "{any: [{resources: {kinds: [CronJob]}}]}",
	} {
		exception := object(t, head+names+"]}], match: "+match+"}}")
		comparisons := prove(t, old, exception)
		if len(comparisons) != 1 || comparisons[0].Equal == 0 || len(comparisons[0].Differences) > 0 {
			t.Errorf("%s: %v", names, comparisons)
		}
	}
	results := []convert.Result{convert.Policy(old, options())}
	for text, want := range map[string]string{
		"[{policyName: other, ruleNames: [r]}], match: {any: [{resources: {kinds: [Pod]}}]}":                                    "spec.exceptions[0].policyName",
		"[{policyName: p, ruleNames: [x]}], match: {any: [{resources: {kinds: [Pod]}}]}":                                        "it names no rule",
		"[{policyName: p, ruleNames: [r]}], match: {any: [{clusterRoles: [x], resources: {kinds: [Pod]}}]}":                     "spec.match[0]",
		"[{policyName: p, ruleNames: [r]}], match: {any: [{resources: {kinds: [Pod]}}]}, podSecurity: [{controlName: Seccomp}]": "spec.podSecurity",
	} {
		exception := object(t, "{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: e, namespace: x}, spec: {exceptions: "+text+"}}")
		if _, err := convert.Exception(exception, results, options()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

// TestKubernetesKinds: kinds without a group are Kubernetes' own, if it has some of the name.
func TestKubernetesKinds(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"Pod": `[""] ["v1"] ["pods"]`, "Deployment": `["apps"] ["*"] ["deployments"]`, "apps/v1/Deployment/scale": `["apps"] ["v1"] ["deployments/scale"]`,
		"Ingress": `["networking.k8s.io"] ["*"] ["ingresses"]`, "Widget": `["*"] ["*"] ["widgets"]`, "example.com/v1/Widget": `["example.com"] ["v1"] ["widgets"]`, "*": `["*"] ["*"] ["*"]`,
	} {
		result := convert.Policy(withRule(t, `{match: {any: [{resources: {kinds: ["`+kind+`"], operations: [CREATE]}}]}, validate: {deny: {}}}`), options())
		if !result.Complete() {
			t.Errorf("%s: %+v", kind, result)
			continue
		}
		rules, _, err := unstructured.NestedSlice(result.Converted()[0].Object, "spec", "matchConstraints", "resourceRules")
		if err != nil || len(rules) != 1 {
			t.Fatalf("%s: %v, %v", kind, rules, err)
		}
		rule := rules[0].(map[string]any)
		var texts []string
		for _, field := range []string{"apiGroups", "apiVersions", "resources"} {
			data := testkit.Must(yaml.Marshal(rule[field]))(t)
			texts = append(texts, `["`+strings.Trim(strings.TrimPrefix(strings.TrimSpace(string(data)), "- "), `"'`)+`"]`)
		}
		if got := strings.Join(texts, " "); got != want {
			t.Errorf("%s: %s, want %s", kind, got, want)
		}
	}
}
