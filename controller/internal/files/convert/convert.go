// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/cel-go/common/operators"
	"github.com/kyverno/kyverno/api/kyverno"
	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	"github.com/kyverno/kyverno/pkg/autogen"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/docket-project/docket/controller/internal/policy"
)

// Options say what a policy itself does not.
type Options struct {
	// Kinds returns the resources of a kind that is not Kubernetes' own, of which the group may be "*"; none if it is not
	// known. It may be nil.
	Kinds func(group, kind string) []schema.GroupResource
	// Plural guesses the name of the resource of a kind.
	Plural func(kind string) string
}

// Rule is what became of a rule.
type Rule struct {
	Name string
	// Policy is the new policy; nil if there is none.
	Policy *unstructured.Unstructured
	// Err says why there is none: an [*Error], mostly.
	Err error
	// Generates tells that Kyverno generates rules of it for the controllers of pods.
	Generates bool
	// Notes say what is not as before, for people.
	Notes []string
}

// Result is what became of a policy.
type Result struct {
	Old   policy.Identity
	Rules []Rule
	// Err says why nothing of the policy was converted.
	Err error
}

// Converted returns the new policies.
func (r Result) Converted() []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, rule := range r.Rules {
		if rule.Policy != nil {
			out = append(out, rule.Policy)
		}
	}
	return out
}

// Complete reports whether all rules were converted.
func (r Result) Complete() bool {
	return r.Err == nil && !slices.ContainsFunc(r.Rules, func(rule Rule) bool { return rule.Policy == nil })
}

// converter converts one rule.
type converter struct {
	options Options
	// object is the resource in CEL.
	object cel
	// autogen tells that the rule is also about the controllers of pods.
	autogen bool
	kinds   []string
	single  bool
	// verbatim tells that a path is not to be rewritten for the controllers of pods.
	verbatim bool
	used     map[string]int
	notes    []string
	// err says why the rule can't be converted.
	err error
}

func newConverter(options Options) *converter {
	return &converter{options: options, object: ident("object"), used: map[string]int{}}
}

func (c *converter) note(text string, arguments ...any) {
	note := fmt.Sprintf(text, arguments...)
	if !slices.Contains(c.notes, note) {
		c.notes = append(c.notes, note)
	}
}

// taken are names that CEL or this package uses.
var taken = map[string]bool{
	"object": true, "oldObject": true, "request": true, "namespaceObject": true, "variables": true, "resource": true, "image": true,
	"package": true, "namespace": true, "import": true, "type": true, "string": true, "int": true, "list": true, "map": true,
	"function": true, "loop": true, "return": true, "var": true, "const": true, "dyn": true, "http": true, "time": true, "json": true,
	"user": true, "hash": true, "math": true, "random": true, "optional": true, "cel": true, "sets": true, "lists": true, "duration": true,
}

// variable returns a name for the elements of a list that is not in use.
func (c *converter) variable(name string) cel {
	if taken[name] || !dotted(name) {
		name = "element"
	}
	c.used[name]++
	if n := c.used[name]; n > 1 {
		name = fmt.Sprintf("%s%d", name, n)
	}
	return ident(name)
}

// topLevel returns the place of a member of the resource. Kyverno puts object.spec.template.spec in place of
// object.spec for the controllers of pods, and the same for metadata, which a template may not have.
func (c *converter) topLevel(key string) place {
	value := build.NewSelect(0, c.object, key)
	switch {
	case key == "metadata" && c.autogen:
		has := call(operators.Has, value)
		return place{root: choose(has, value, emptyMap), there: has}
	case key == "metadata", key == "kind", key == "apiVersion", key == "spec" && c.podsOnlyKinds():
		return at(value)
	default:
		return place{root: c.object, keys: []string{key}}
	}
}

// Policy converts a ClusterPolicy or a Policy.
func Policy(object *unstructured.Unstructured, options Options) Result {
	result := Result{Old: policy.Identity{Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}}
	decoded, err := decode(object)
	if err == nil {
		err = checkSpec(decoded.GetSpec())
	}
	if err != nil {
		result.Err = err
		return result
	}
	generated := generatedRules(decoded)
	rules := decoded.GetSpec().Rules
	names := map[string]bool{}
	for i := range rules {
		c := newConverter(options)
		c.autogen = generated[rules[i].Name]
		rule := Rule{Name: rules[i].Name, Generates: c.autogen}
		var spec map[string]any
		if spec, rule.Err = c.rule(decoded, &rules[i], fmt.Sprintf("spec.rules[%d]", i)); rule.Err == nil {
			kind := policy.ValidatingPolicy
			if object.GetKind() == policy.NamespacedPolicy {
				kind = policy.NamespacedValidatingPolicy
			}
			rule.Policy = newObject(object, kind, nameFor(object.GetName(), rule.Name, len(rules) == 1, names), spec)
			rule.Notes = c.notes
		}
		result.Rules = append(result.Rules, rule)
	}
	return result
}

// decode reads a policy of either kind. A field that is not known is an error: it may be what matters.
func decode(object *unstructured.Unstructured) (kyvernov1.PolicyInterface, error) {
	content := object.DeepCopy().Object
	delete(content, "status")
	var decoded kyvernov1.PolicyInterface = &kyvernov1.ClusterPolicy{}
	if object.GetKind() == policy.NamespacedPolicy {
		decoded = &kyvernov1.Policy{}
	}
	if err := recoded(content, decoded); err != nil {
		return nil, refuse("", "correct it", "the policy can't be read: %v", err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, decoded.CreateDeepCopy(), true); err != nil {
		if strict, ok := runtime.AsStrictDecodingError(err); ok {
			return nil, refuse("", "correct or remove it", "%v", strict)
		}
	}
	return decoded, nil
}

// checkSpec refuses what concerns all rules and has no counterpart.
func checkSpec(spec *kyvernov1.Spec) error {
	switch {
	case len(spec.Rules) == 0:
		return refuse("spec.rules", "give it a rule", "it is empty")
	case spec.GetApplyRules() == kyvernov1.ApplyOne && len(spec.Rules) > 1:
		return refuse("spec.applyRules", "use matchConditions that exclude each other", "the first rule that applies is the only one, which CEL policies can't say")
	case len(spec.ValidationFailureActionOverrides) > 0:
		return refuse("spec.validationFailureActionOverrides", "make a policy for each action, with namespaceSelector", "CEL policies have one action for all namespaces")
	default:
		return nil
	}
}

// generatedRules returns the names of the rules that also are about the controllers of pods.
func generatedRules(decoded kyvernov1.PolicyInterface) map[string]bool {
	out := map[string]bool{}
	all := autogen.Default.ComputeRules(decoded.CreateDeepCopy(), "")
	for _, rule := range decoded.GetSpec().Rules {
		for _, name := range GeneratedNames(rule.Name)[1:] {
			if slices.ContainsFunc(all, func(one kyvernov1.Rule) bool { return one.Name == name }) {
				out[rule.Name] = true
			}
		}
	}
	return out
}

// maxRuleName is where Kyverno cuts the names of generated rules.
const maxRuleName = 63

// GeneratedNames returns the names that results of a rule have: its own, and those of the rules that Kyverno
// generates of it for the controllers of pods.
func GeneratedNames(rule string) []string {
	names := []string{rule}
	for _, prefix := range []string{"autogen-", "autogen-cronjob-"} {
		name := prefix + rule
		names = append(names, name[:min(len(name), maxRuleName)])
	}
	return names
}

var notInNames = regexp.MustCompile(`[^a-z0-9.-]+`)

// nameFor names a new policy like the old one, with the name of the rule behind it if there are several.
func nameFor(name, rule string, only bool, used map[string]bool) string {
	if !only {
		name += "-" + strings.Trim(notInNames.ReplaceAllString(strings.ToLower(rule), "-"), "-.")
	}
	unique := name
	for i := 2; used[unique]; i++ {
		unique = fmt.Sprintf("%s-%d", name, i)
	}
	used[unique] = true
	return unique
}

// newObject has the labels of the old one, so that its results have the same severity, category …, and the annotations
// that mean the same for it.
func newObject(old *unstructured.Unstructured, kind, name string, spec map[string]any) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	out.SetAPIVersion(policy.CELGroup + "/v1")
	out.SetKind(kind)
	out.SetName(name)
	if kind != policy.ValidatingPolicy {
		out.SetNamespace(old.GetNamespace())
	}
	out.SetLabels(old.GetLabels())
	annotations := maps.Clone(old.GetAnnotations())
	delete(annotations, policy.LastApplied)
	delete(annotations, kyverno.AnnotationAutogenControllers)
	if len(annotations) > 0 {
		out.SetAnnotations(annotations)
	}
	return out
}
