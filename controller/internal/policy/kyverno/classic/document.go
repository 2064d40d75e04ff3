// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package classic

import (
	"cmp"
	"fmt"
	"maps"
	"strings"

	kyvernov1 "github.com/kyverno/kyverno/api/kyverno/v1"
	kyvernov2 "github.com/kyverno/kyverno/api/kyverno/v2"
	"github.com/kyverno/kyverno/pkg/config"
	enginecontext "github.com/kyverno/kyverno/pkg/engine/context"
	apiutils "github.com/kyverno/kyverno/pkg/utils/api"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/docket-project/docket/controller/internal/policy/kyverno/meter"
)

// document is the JSON document that the expressions of a rule see. Kyverno copies the whole of it twice for each rule;
// many rules have no expression and never look. So it is made when it is first used, of a copy of the subject
// (Kyverno's functions may change it in place), and the checkpoints before that are only counted. The outermost one,
// around all rules of a policy, is never taken: each rule has its own, and after it there is nothing to undo.
type document struct {
	// Interface is nil until the document is used.
	enginecontext.Interface

	query    *expressions
	settings config.Configuration
	object   *unstructured.Unstructured
	// shown is the copy of object that expressions see as request.object. It is beside the Interface, which
	// copies all that it has for each rule and each element of a loop.
	shown map[string]any
	// inside is the depth at which a rule has changed the variable request, so that the Interface has shown until
	// that is undone; 0 if it has not.
	inside int
	depth  int
	// shared is restored before the Interface, which may then add to it.
	shared sharedVariables
	// request fills the document instead of the object if it is about a request.
	request *requestDocument
	// meter counts what the expressions of the rule make.
	meter *meter.Meter
	// rule is the one that is evaluated; nil before the first.
	rule *rule
	// operands has what is known about the operands of this rule.
	operands operands
	// confined is set for policies in a namespace.
	confined bool
	// missing is the first cause for which an entry could not be loaded.
	missing error
}

// begin is called before each rule.
func (d *document) begin(rule *rule, used *meter.Meter) {
	d.missing, d.meter, d.rule, d.operands = nil, used, rule, operands{marks: rule.marks}
}

// textCopies is how often the engine has a text while it puts it into a rule or a variable.
const textCopies = 4

// substituted returns what the engine makes of the result of an expression: a text, unless it takes it as it is.
func (d *document) substituted(expression string, result any) int64 {
	switch typed := result.(type) {
	case string:
		return meter.Times(int64(len(typed)), textCopies) + meter.ValueBytes
	case []any, map[string]any, []map[string]any:
		if d.rule == nil || !d.rule.whole[expression] {
			return meter.Times(meter.NativeBytes(result), textCopies)
		}
	}
	return 0
}

// use makes the document. A failure is kept for those who ask for data.
func (d *document) use() (enginecontext.Interface, error) {
	if d.Interface != nil {
		return d.Interface, nil
	}
	made := enginecontext.NewContextWithMaxSize(overlaid{d.query, d}, maxContextBytes)
	fill := d.fill
	if d.request != nil {
		fill = d.request.fill
	}
	if err := fill(made, d.settings); err != nil {
		return nil, err
	}
	for range d.depth - 1 {
		made.Checkpoint()
	}
	if d.request != nil {
		if err := d.request.replay(made); err != nil {
			return nil, err
		}
	}
	d.Interface = made
	return made, nil
}

// fill shows the object as something that is being created.
func (d *document) fill(made enginecontext.Interface, settings config.Configuration) error {
	object := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(d.object.Object)}
	d.shown = object.Object
	return cmp.Or(
		shown("the namespace", made.AddNamespace(object.GetNamespace())),
		shown("the images", made.AddImageInfos(object, settings)),
		shown("the operation", made.AddOperation(string(kyvernov1.Create))),
	)
}

// shown names what expressions do not see because of an error.
func shown(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot show %s to expressions: %w", what, err)
}

// over returns the variables of the Interface with those that are beside it.
func (d *document) over(data any) any {
	own, ok := data.(map[string]any)
	beside := d.shown != nil && d.inside == 0
	if !ok || len(d.shared.now) == 0 && !beside {
		return data
	}
	all := make(map[string]any, len(own)+len(d.shared.now)+1)
	maps.Copy(all, own)
	maps.Copy(all, d.shared.now)
	if beside {
		before, _ := own[requestVariable].(map[string]any)
		request := make(map[string]any, len(before)+1)
		maps.Copy(request, before)
		request["object"] = d.shown
		all[requestVariable] = request
	}
	return all
}

// requestVariable is the variable with the request, or with what stands for one in a scan.
const requestVariable = "request"

func (d *document) Checkpoint() {
	if d.depth++; d.depth > 1 {
		d.shared.checkpoint()
	}
	if d.Interface != nil && d.depth > 1 {
		d.Interface.Checkpoint()
	}
}

func (d *document) Restore() {
	d.shared.restore()
	if d.inside == d.depth {
		d.inside = 0
	}
	if d.depth--; d.Interface != nil && d.depth > 0 {
		d.Interface.Restore()
	}
}

func (d *document) Reset() {
	d.shared.reset()
	if d.inside == d.depth {
		d.inside = 0
	}
	if d.Interface != nil && d.depth > 1 {
		d.Interface.Reset()
	}
}

// AddResource does nothing. The engine calls it after each rule with what the rule has made of the
// resource, and rules that validate make nothing of it.
func (d *document) AddResource(map[string]any) error { return nil }

// AddOldResource does nothing: the engine only calls it through the policy context, which knows.
func (d *document) AddOldResource(map[string]any) error { return nil }

func (d *document) QueryOperation() string {
	if d.request != nil {
		return string(d.request.operation)
	}
	return string(kyvernov1.Create)
}

func (d *document) Query(query string) (any, error) {
	if strings.HasPrefix(query, markPrefix) {
		if out, ok, err := d.ask(query); ok {
			return out, err
		}
	}
	made, err := d.use()
	if err != nil {
		return nil, err
	}
	return made.Query(query)
}

func (d *document) HasChanged(path string) (bool, error) {
	made, err := d.use()
	if err != nil {
		return false, err
	}
	return made.HasChanged(path)
}

func (d *document) AddVariable(key string, value any) error {
	name, _, _ := strings.Cut(key, ".")
	return d.change(strings.Trim(name, `"`), func(made enginecontext.Interface) error { return made.AddVariable(key, value) })
}

func (d *document) AddContextEntry(name string, data []byte) error {
	return d.change(name, func(made enginecontext.Interface) error { return made.AddContextEntry(name, data) })
}

func (d *document) ReplaceContextEntry(name string, data []byte) error {
	return d.change(name, func(made enginecontext.Interface) error { return made.ReplaceContextEntry(name, data) })
}

func (d *document) AddElement(data any, index, nesting int) error {
	return d.add(func(made enginecontext.Interface) error { return made.AddElement(data, index, nesting) })
}

func (d *document) AddDeferredLoader(loader enginecontext.DeferredLoader) error {
	return d.add(func(made enginecontext.Interface) error { return made.AddDeferredLoader(loader) })
}

func (d *document) SetTargetResource(data map[string]any) error {
	return d.add(func(made enginecontext.Interface) error { return made.SetTargetResource(data) })
}

func (d *document) AddUserInfo(info kyvernov2.RequestInfo) error {
	return d.add(func(made enginecontext.Interface) error { return made.AddUserInfo(info) })
}

func (d *document) AddServiceAccount(user string) error {
	return d.add(func(made enginecontext.Interface) error { return made.AddServiceAccount(user) })
}

func (d *document) AddOperation(operation string) error {
	return d.add(func(made enginecontext.Interface) error { return made.AddOperation(operation) })
}

func (d *document) AddNamespace(namespace string) error {
	return d.add(func(made enginecontext.Interface) error { return made.AddNamespace(namespace) })
}

func (d *document) AddImageInfo(info apiutils.ImageInfo, settings config.Configuration) error {
	return d.add(func(made enginecontext.Interface) error { return made.AddImageInfo(info, settings) })
}

func (d *document) AddImageInfos(object *unstructured.Unstructured, settings config.Configuration) error {
	return d.add(func(made enginecontext.Interface) error { return made.AddImageInfos(object, settings) })
}

func (d *document) AddRequest(request admissionv1.AdmissionRequest) error {
	return d.add(func(made enginecontext.Interface) error { return made.AddRequest(request) })
}

func (d *document) GenerateCustomImageInfo(
	object *unstructured.Unstructured, extractors kyvernov1.ImageExtractorConfigs, settings config.Configuration,
) (map[string]map[string]apiutils.ImageInfo, error) {
	made, err := d.use()
	if err != nil {
		return nil, err
	}
	return made.GenerateCustomImageInfo(object, extractors, settings)
}

func (d *document) ImageInfo() map[string]map[string]apiutils.ImageInfo {
	made, err := d.use()
	if err != nil {
		return nil
	}
	return made.ImageInfo()
}

func (d *document) add(change func(enginecontext.Interface) error) error {
	made, err := d.use()
	if err != nil {
		return err
	}
	return change(made)
}

// change is add for one variable.
func (d *document) change(name string, change func(enginecontext.Interface) error) error {
	return d.add(func(made enginecontext.Interface) error {
		if err := d.own(name); err != nil {
			return err
		}
		if name == requestVariable && d.shown != nil && d.inside == 0 {
			if err := made.AddResource(runtime.DeepCopyJSON(d.shown)); err != nil {
				return err
			}
			d.inside = d.depth
		}
		return change(made)
	})
}
