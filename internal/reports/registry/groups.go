// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/docket-project/docket/internal/reports/document"
	"github.com/docket-project/docket/internal/reports/kinds"
)

// APIGroups returns the chosen groups, ready for InstallAPIGroups of a generic API
// server. The scheme is that of [NewScheme]; enabled holds names of [Groups]. On an
// error nothing stays open.
func APIGroups(
	enabled []string, scheme *runtime.Scheme, optsGetter generic.RESTOptionsGetter,
) ([]*genericapiserver.APIGroupInfo, error) {
	if err := ValidateGroups(enabled); err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(Kinds(), func(kind Kind) bool { return !slices.Contains(enabled, kind.GroupVersionKind.Group) })
	opened, err := kinds.OpenAll(chosen, func(kind Kind) (*REST, error) { return NewREST(kind, scheme, optsGetter) })
	if err != nil {
		return nil, err
	}
	codecs := NewCodecs(scheme)
	infos := map[string]*genericapiserver.APIGroupInfo{}
	for _, storage := range opened {
		group, version := storage.kind.GroupVersionKind.Group, storage.kind.GroupVersionKind.Version
		if infos[group] == nil {
			info := genericapiserver.NewDefaultAPIGroupInfo(group, scheme, runtime.NewParameterCodec(scheme), codecs)
			info.NegotiatedSerializer = document.NewSerializer(info.NegotiatedSerializer)
			info.VersionedResourcesStorageMap[version] = map[string]rest.Storage{}
			infos[group] = &info
		}
		infos[group].VersionedResourcesStorageMap[version][storage.kind.Resource] = storage
	}
	var ordered []*genericapiserver.APIGroupInfo
	for _, group := range Groups() {
		if info, ok := infos[group]; ok {
			ordered = append(ordered, info)
		}
	}
	return ordered, nil
}

// ValidateGroups returns an error if enabled is empty or holds anything but names
// of [Groups].
func ValidateGroups(enabled []string) error { return ValidateChoice(enabled, Groups()) }

// ValidateChoice is ValidateGroups for a choice of some known groups.
func ValidateChoice(chosen, known []string) error {
	names := strings.Join(known, ", ")
	if len(chosen) == 0 {
		return fmt.Errorf("no API group is served: choose from %s", names)
	}
	var errs []error
	for _, group := range chosen {
		if !slices.Contains(known, group) {
			errs = append(errs, fmt.Errorf("API group %q is not known: choose from %s", group, names))
		}
	}
	return errors.Join(errs...)
}
