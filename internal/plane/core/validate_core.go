// Copyright 2026 The Docket Authors.
// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apimachineryvalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	dataField      = "data"
	immutableField = "immutable"
)

func validateConfigMap(now, old *corev1.ConfigMap) field.ErrorList {
	size, errs := 0, field.ErrorList(nil)
	for _, key := range slices.Sorted(maps.Keys(now.Data)) {
		size += len(now.Data[key])
		errs = append(errs, validateKey(field.NewPath(dataField), key)...)
		if _, twice := now.BinaryData[key]; twice {
			errs = append(errs, field.Invalid(field.NewPath(dataField).Key(key), key, "is in binaryData, too"))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(now.BinaryData)) {
		size += len(now.BinaryData[key])
		errs = append(errs, validateKey(field.NewPath("binaryData"), key)...)
	}
	errs = append(errs, validateSize(size)...)
	if old == nil || old.Immutable == nil || !*old.Immutable {
		return errs
	}
	if now.Immutable == nil || !*now.Immutable {
		errs = append(errs, field.Forbidden(field.NewPath(immutableField), "can't be taken back: delete the configmap and create it again"))
	}
	if !maps.Equal(now.Data, old.Data) {
		errs = append(errs, immutable(dataField))
	}
	if !apiequality.Semantic.DeepEqual(now.BinaryData, old.BinaryData) {
		errs = append(errs, immutable("binaryData"))
	}
	return errs
}

// secretKeys are the keys that a secret of a type must have to be of use.
var secretKeys = map[corev1.SecretType][]string{
	corev1.SecretTypeDockercfg:        {corev1.DockerConfigKey},
	corev1.SecretTypeDockerConfigJson: {corev1.DockerConfigJsonKey},
	corev1.SecretTypeSSHAuth:          {corev1.SSHAuthPrivateKey},
	corev1.SecretTypeTLS:              {corev1.TLSCertKey, corev1.TLSPrivateKeyKey},
}

func validateSecret(now, old *corev1.Secret) field.ErrorList {
	path := field.NewPath(dataField)
	size, errs := 0, field.ErrorList(nil)
	for _, key := range slices.Sorted(maps.Keys(now.Data)) {
		size += len(now.Data[key])
		errs = append(errs, validateKey(path, key)...)
	}
	errs = append(errs, validateSize(size)...)
	for _, key := range secretKeys[now.Type] {
		if _, ok := now.Data[key]; !ok {
			errs = append(errs, field.Required(path.Key(key), fmt.Sprintf("secrets of type %s need it", now.Type)))
		}
	}
	if old == nil {
		return errs
	}
	errs = append(errs, apimachineryvalidation.ValidateImmutableField(now.Type, old.Type, field.NewPath("type"))...)
	if old.Immutable == nil || !*old.Immutable {
		return errs
	}
	if now.Immutable == nil || !*now.Immutable {
		errs = append(errs, field.Forbidden(field.NewPath(immutableField), "can't be taken back: delete the secret and create it again"))
	}
	if !apiequality.Semantic.DeepEqual(now.Data, old.Data) {
		errs = append(errs, immutable(dataField))
	}
	return errs
}

func immutable(name string) *field.Error {
	return field.Forbidden(field.NewPath(name), "can't change while immutable is set")
}

func validateKey(path *field.Path, key string) field.ErrorList {
	var errs field.ErrorList
	for _, problem := range validation.IsConfigMapKey(key) {
		errs = append(errs, field.Invalid(path.Key(key), key, problem))
	}
	return errs
}

func validateSize(size int) field.ErrorList {
	if size <= corev1.MaxSecretSize {
		return nil
	}
	return field.ErrorList{field.TooLong(field.NewPath(dataField), "", corev1.MaxSecretSize)}
}

func validateService(now, _ *corev1.Service) field.ErrorList {
	path := field.NewPath("spec")
	types := []corev1.ServiceType{
		corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeExternalName,
	}
	var errs field.ErrorList
	if !slices.Contains(types, now.Spec.Type) {
		errs = append(errs, field.NotSupported(path.Child("type"), now.Spec.Type, types))
	}
	headless := now.Spec.ClusterIP == corev1.ClusterIPNone
	if now.Spec.Type == corev1.ServiceTypeExternalName {
		if now.Spec.ExternalName == "" {
			errs = append(errs, field.Required(path.Child("externalName"), "services of type ExternalName need it"))
		}
		for _, problem := range validation.IsDNS1123Subdomain(now.Spec.ExternalName) {
			errs = append(errs, field.Invalid(path.Child("externalName"), now.Spec.ExternalName, problem))
		}
	} else if len(now.Spec.Ports) == 0 && !headless {
		errs = append(errs, field.Required(path.Child("ports"), "only services of type ExternalName and headless ones have none"))
	}
	return append(errs, validateServicePorts(now.Spec.Ports, path.Child("ports"))...)
}

func validateServicePorts(ports []corev1.ServicePort, path *field.Path) field.ErrorList {
	protocols := []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}
	names := sets.New[string]()
	var errs field.ErrorList
	for i, port := range ports {
		at := path.Index(i)
		for _, problem := range validation.IsValidPortNum(int(port.Port)) {
			errs = append(errs, field.Invalid(at.Child("port"), port.Port, problem))
		}
		if !slices.Contains(protocols, port.Protocol) {
			errs = append(errs, field.NotSupported(at.Child("protocol"), port.Protocol, protocols))
		}
		switch {
		case port.Name == "" && len(ports) > 1:
			errs = append(errs, field.Required(at.Child("name"), "each port needs a name if there are several"))
		case names.Has(port.Name):
			errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
		}
		names.Insert(port.Name)
	}
	return errs
}

// validateEvent keeps an event in the namespace of its object, so that everybody who may see the
// object may see the event.
func validateEvent(now, _ *corev1.Event) field.ErrorList {
	about := now.InvolvedObject.Namespace
	if about == now.Namespace || about == "" && now.Namespace == corev1.NamespaceDefault {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("involvedObject", "namespace"), about, "must be the namespace of the event")}
}
