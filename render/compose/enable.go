package compose

import (
	"slices"

	clustermanager "github.com/clustermanager/cluster-manager"
)

// Serving is a composed change of a cluster's model serving: what to do, and what an answer tells about it.
type Serving struct {
	Plan clustermanager.Plan
	// Serving is what served on the cluster before.
	Serving clustermanager.Component
	clustermanager.ServingResult
	// LiveSteps are what a merge does not do.
	LiveSteps []string
}

// CheckEnableServing refuses what needs no read.
func CheckEnableServing(request clustermanager.EnableModelServingRequest) error {
	return checkServingCall(request.Cluster, request.WithDefaults().Mode)
}

func checkServingCall(cluster string, mode clustermanager.Mode) error {
	if cluster == "" {
		return clustermanager.Refuse("cluster is missing: name the cluster")
	}
	return checkModeName(mode)
}

// EnableServing composes the serving slice of a cluster with or without a GPU pool, and its registration. An error is a
// *clustermanager.Refusal; where several rules are broken the first of the order below is told.
func EnableServing(request clustermanager.EnableModelServingRequest, survey clustermanager.Survey) (Serving, error) {
	if err := CheckEnableServing(request); err != nil {
		return Serving{}, err
	}
	s := slice{base: &base{survey: survey, mode: request.WithDefaults().Mode}, cacheArgument: request.Cache}
	if err := establishAll(
		s.checkDeleting, s.readBaseDomain, s.checkTarget, s.readOwnPools, s.read, s.chooseKeptCache, s.checkComponent, s.checkForeign, s.checkIssuer, s.decideBackend, s.checkNamespace,
	); err != nil {
		return Serving{}, err
	}
	s.keepClaim()
	steps, err := s.guardOwnership(slices.Concat(s.healing(), s.steps(), s.leftovers()))
	if err != nil {
		return Serving{}, err
	}
	return Serving{
		Serving: survey.Serving.Component, ServingResult: s.result(),
		Plan: clustermanager.Plan{Steps: steps, Warnings: s.warnings},
	}, nil
}

func (s *slice) checkDeleting() error {
	if s.survey.Cluster.Deleting {
		return clustermanager.Refuse("%s is being deleted and takes no model serving: name another cluster", s.cluster())
	}
	return nil
}

// readBaseDomain: the models of a workload cluster answer below the installation's base domain.
func (s *slice) readBaseDomain() error {
	if s.survey.Cluster.Own {
		return nil
	}
	effective, err := need(s.base, s.survey.Values, "its values, which name the base domain that its models answer below,")
	s.baseDomain = text(effective.Values.Reveal(), "global", "connectivity", "baseDomain")
	if err == nil && s.baseDomain == "" {
		return clustermanager.Refuse("%s: its values name no global.connectivity.baseDomain, and its models answer below it: add the base domain of the installation to %s", s.cluster(), owner(effective))
	}
	return err
}

func (s *slice) readOwnPools() (err error) {
	s.pools, err = s.readPools(nil)
	return err
}

// chooseKeptCache is chooseCache where the slice is ours.
func (s *slice) chooseKeptCache() error {
	if !s.composed {
		return nil
	}
	return s.chooseCache()
}

// checkForeign leaves a serving layer that somebody else provides alone.
func (s *slice) checkForeign() error {
	if s.composed {
		return nil
	}
	return clustermanager.Refuse("%s: models are served on it by a layer that is %s's and not cluster-manager's (%s): there is nothing to switch on, and that layer is left alone",
		s.cluster(), s.survey.Serving.Component.Provider, s.evidence())
}
