// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package admissionpolicy

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	celparser "github.com/google/cel-go/parser"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
)

// environments are the same as for policies in the API server.
var environments = sync.OnceValue(func() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
})

// compile returns the program of a policy. The error names the expressions that don't compile: the
// API server refuses such a policy, but may have accepted it in another version.
func compile(definition *admissionregistrationv1.ValidatingAdmissionPolicy) (validating.Validator, error) {
	spec := &definition.Spec
	if spec.MatchConstraints == nil {
		return nil, errNoConstraints
	}
	compiler, err := cel.NewCompositedCompiler(environments())
	if err != nil {
		return nil, fmt.Errorf("prepare CEL: %w", err)
	}
	all := cel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil, HasAuthorizer: true}
	messages := cel.OptionalVariableDeclarations{HasParams: spec.ParamKind != nil}
	errs := compileVariables(compiler, spec.Variables, all)
	conditional := func(accessors []cel.ExpressionAccessor, declared cel.OptionalVariableDeclarations) cel.ConditionEvaluator {
		condition := compiler.CompileCondition(accessors, declared, environment.StoredExpressions)
		errs = append(errs, condition.CompilationErrors()...)
		return condition
	}
	var matcher matchconditions.Matcher
	if len(spec.MatchConditions) > 0 {
		matcher = matchconditions.NewMatcher(conditional(conditions(spec.MatchConditions), all), spec.FailurePolicy, "policy", "validate", definition.Name)
	}
	validator := validating.NewValidator(
		conditional(validations(spec), all), matcher, conditional(auditAnnotations(spec), all), conditional(messageExpressions(spec), messages), spec.FailurePolicy, nil)
	return validator, errors.Join(errs...)
}

func compileVariables(compiler *cel.CompositedCompiler, variables []admissionregistrationv1.Variable, declared cel.OptionalVariableDeclarations) []error {
	var errs []error
	for i := range variables {
		variable := &validating.Variable{Name: variables[i].Name, Expression: variables[i].Expression}
		if result := compiler.CompileAndStoreVariable(variable, declared, environment.StoredExpressions); result.Error != nil {
			errs = append(errs, fmt.Errorf("spec.variables[%d].expression: %w", i, result.Error))
		}
	}
	return errs
}

func conditions(all []admissionregistrationv1.MatchCondition) []cel.ExpressionAccessor {
	out := make([]cel.ExpressionAccessor, len(all))
	for i := range all {
		out[i] = (*matchconditions.MatchCondition)(&all[i])
	}
	return out
}

func validations(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) []cel.ExpressionAccessor {
	out := make([]cel.ExpressionAccessor, len(spec.Validations))
	for i := range spec.Validations {
		v := &spec.Validations[i]
		out[i] = &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason}
	}
	return out
}

// messageExpressions has a nil for each validation without one, as the library expects.
func messageExpressions(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) []cel.ExpressionAccessor {
	out := make([]cel.ExpressionAccessor, len(spec.Validations))
	for i := range spec.Validations {
		if text := spec.Validations[i].MessageExpression; text != "" {
			out[i] = &validating.MessageExpressionCondition{MessageExpression: text}
		}
	}
	return out
}

// auditAnnotations are what the API server would add to its audit log.
func auditAnnotations(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) []cel.ExpressionAccessor {
	out := make([]cel.ExpressionAccessor, len(spec.AuditAnnotations))
	for i := range spec.AuditAnnotations {
		out[i] = &validating.AuditAnnotationCondition{Key: spec.AuditAnnotations[i].Key, ValueExpression: spec.AuditAnnotations[i].ValueExpression}
	}
	return out
}

// expression is a text in CEL with its place.
type expression struct{ path, text string }

// expressions are all that decide about results.
func expressions(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) []expression {
	out := conditionsAndVariables(spec.MatchConditions, spec.Variables)
	for i := range spec.Validations {
		out = append(out, expression{fmt.Sprintf("spec.validations[%d].expression", i), spec.Validations[i].Expression})
	}
	return out
}

func conditionsAndVariables(conditions []admissionregistrationv1.MatchCondition, variables []admissionregistrationv1.Variable) []expression {
	var out []expression
	for i := range conditions {
		out = append(out, expression{fmt.Sprintf("spec.matchConditions[%d].expression", i), conditions[i].Expression})
	}
	for i := range variables {
		out = append(out, expression{fmt.Sprintf("spec.variables[%d].expression", i), variables[i].Expression})
	}
	return out
}

// messages are the expressions that results show, and that don't decide about them.
func messages(spec *admissionregistrationv1.ValidatingAdmissionPolicySpec) []expression {
	var out []expression
	for i := range spec.Validations {
		if text := spec.Validations[i].MessageExpression; text != "" {
			out = append(out, expression{fmt.Sprintf("spec.validations[%d].messageExpression", i), text})
		}
	}
	for i := range spec.AuditAnnotations {
		out = append(out, expression{fmt.Sprintf("spec.auditAnnotations[%d].valueExpression", i), spec.AuditAnnotations[i].ValueExpression})
	}
	return out
}

// readsNamespace reports whether an expression looks at the namespace.
func readsNamespace(all []expression) bool {
	return slices.ContainsFunc(all, func(e expression) bool {
		found, err := reads(e.text)
		return err == nil && found.namespace
	})
}

// reading says what of a request an expression looks at.
type reading struct{ authorizer, user, namespace bool }

var parser = sync.OnceValues(func() (*celparser.Parser, error) {
	return celparser.NewParser(celparser.Macros(celparser.AllMacros...), celparser.EnableOptionalSyntax(true))
})

// reads returns what an expression looks at. request["userInfo"] counts, too.
func reads(expression string) (reading, error) {
	p, err := parser()
	if err != nil {
		return reading{}, err
	}
	parsed, issues := p.Parse(common.NewTextSource(expression))
	if len(issues.GetErrors()) > 0 {
		return reading{}, errors.New(issues.ToDisplayString())
	}
	var found reading
	ast.PostOrderVisit(parsed.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		found.authorizer = found.authorizer || isVariable(e, "authorizer")
		found.user = found.user || isUser(e)
		found.namespace = found.namespace || isVariable(e, "namespaceObject")
	}))
	return found, nil
}

// isUser reports whether an expression is request.userInfo, or may be request["userInfo"].
func isUser(e ast.Expr) bool {
	if e.Kind() == ast.SelectKind {
		return e.AsSelect().FieldName() == "userInfo" && isVariable(e.AsSelect().Operand(), "request")
	}
	return e.Kind() == ast.LiteralKind && e.AsLiteral().Value() == "userInfo"
}

func isVariable(e ast.Expr, name string) bool {
	return e.Kind() == ast.IdentKind && e.AsIdent() == name
}
