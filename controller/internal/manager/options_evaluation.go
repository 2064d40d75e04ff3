// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/controller/internal/policy"
)

// EvaluationOptions say how policies are evaluated. All commands that evaluate any have them.
type EvaluationOptions struct {
	// ExceptionNamespaces are those whose exceptions count.
	ExceptionNamespaces []string
	// CompatibleOperands has operands that can't be read taken for zero, empty or false, as in Kyverno.
	CompatibleOperands bool
}

// AddFlags adds the flags.
func (o *EvaluationOptions) AddFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.ExceptionNamespaces, "exception-namespaces", o.ExceptionNamespaces, "Namespaces whose exceptions (PolicyException) count; * for all. Without any, no exception counts. Those for a policy in a namespace have to be in that namespace besides")
	fs.BoolVar(&o.CompatibleOperands, "compatible-operands", o.CompatibleOperands, "Give the verdict of Kyverno's classic engine on operands that it can't read, such as a quantity of 10GB, which it takes for zero, empty or false. If false, they give errors")
}

// Validate returns one error for each value that is wrong.
func (o *EvaluationOptions) Validate() []error {
	var errs []error
	for _, name := range o.ExceptionNamespaces {
		if problems := validation.IsDNS1123Label(name); name != policy.AllNamespaces && len(problems) > 0 {
			errs = append(errs, fmt.Errorf("--exception-namespaces: %q is neither the name of a namespace nor *", name))
		}
	}
	return errs
}
