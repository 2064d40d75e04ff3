// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/docket-project/docket/api/results/v1alpha1"
	"github.com/docket-project/docket/internal/reports/registry"
)

// Defaults of the parameters; they are those of deploy/base.
const (
	DefaultNamespace = "docket-system"
	DefaultService   = "docket"
	DefaultHTTPSPort = 443
)

// NoCABundle says what it means when there is no CABundle.
const NoCABundle = "no caBundle: kube-apiserver will accept the serving certificate only if its own host trusts who signed it"

// Names of the parameters: flags of the command, and keys in the query of the
// endpoint.
const (
	NamespaceParameter       = "namespace"
	CreateNamespaceParameter = "create-namespace"
	ServiceParameter         = "service"
	HTTPSPortParameter       = "https-port"
	OutputParameter          = "output"
)

// Format of the printed List.
type Format string

// Formats that kubectl reads.
const (
	YAML Format = "yaml"
	JSON Format = "json"
)

// Formats returns the names of all formats, the default first.
func Formats() []string { return []string{string(YAML), string(JSON)} }

// Parameters of the objects.
type Parameters struct {
	// Groups are the API groups to register: names of [Groups], or of Further; at least one.
	Groups []string
	// Further are the group versions that a server has by definitions in files.
	Further []schema.GroupVersion
	// Namespace of the server, and whether to create it, too.
	Namespace       string
	CreateNamespace bool
	// Service in front of the server, and its port.
	Service   string
	HTTPSPort int32
	// CABundle has the authorities, as PEM, by one of which the serving certificate is
	// signed. Without it the cluster accepts what its host's operating system does.
	CABundle []byte
}

// Groups returns the API groups that can be registered, in order: those of reports, and that of results.
func Groups() []string {
	groups := append(registry.Groups(), v1alpha1.GroupName)
	slices.Sort(groups)
	return groups
}

// NewParameters returns the defaults: all groups, and no CABundle.
func NewParameters() Parameters {
	return Parameters{
		Groups: Groups(), Namespace: DefaultNamespace, Service: DefaultService, HTTPSPort: DefaultHTTPSPort,
	}
}

// Add adds the group versions of further kinds, and chooses their groups.
func (p *Parameters) Add(kinds []registry.Kind) {
	for _, kind := range kinds {
		version := kind.GroupVersion()
		if !slices.Contains(Groups(), version.Group) && !slices.Contains(p.Further, version) {
			p.Further = append(p.Further, version)
			p.Groups = append(p.Groups, version.Group)
		}
	}
}

// ParameterError is a parameter that can't be used. Its text begins with the name.
type ParameterError struct {
	Name, Reason string
}

// Error implements error.
func (e *ParameterError) Error() string { return e.Name + ": " + e.Reason }

// Validate returns all that is wrong with the parameters: errors of
// registry.ValidateChoice, and ParameterErrors.
func (p Parameters) Validate() []error {
	var errs []error
	known := Groups()
	for _, version := range p.Further {
		known = append(known, version.Group)
	}
	slices.Sort(known)
	if err := registry.ValidateChoice(p.Groups, slices.Compact(known)); err != nil {
		errs = append(errs, err)
	}
	check := func(name string, value any, problems []string) {
		if len(problems) > 0 {
			errs = append(errs, &ParameterError{name, fmt.Sprintf("%q can't be used: %s", fmt.Sprint(value), strings.Join(problems, "; "))})
		}
	}
	check(NamespaceParameter, p.Namespace, validation.IsDNS1123Label(p.Namespace))
	check(ServiceParameter, p.Service, validation.IsDNS1035Label(p.Service))
	check(HTTPSPortParameter, p.HTTPSPort, validation.IsValidPortNum(int(p.HTTPSPort)))
	return errs
}

// ParseFormat returns the format of the given name.
func ParseFormat(name string) (Format, error) {
	if !slices.Contains(Formats(), name) {
		return "", &ParameterError{OutputParameter, fmt.Sprintf("%q is no format; give one of %s", name, strings.Join(Formats(), ", "))}
	}
	return Format(name), nil
}

// leavesOut reports whether group is one that can be registered, and was not chosen.
func (p Parameters) leavesOut(group string) bool {
	return slices.Contains(Groups(), group) && !slices.Contains(p.Groups, group)
}

// validated is Validate as one error.
func (p Parameters) validated() error { return errors.Join(p.Validate()...) }
