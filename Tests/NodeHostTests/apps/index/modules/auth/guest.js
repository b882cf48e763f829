export function validateSetUp(authData, options) {
  if (authData.door !== options.door) throw new Error('This door is closed.');
  return { save: { id: authData.id } };
}

export const validateLogin = () => ({ doNotSave: true });

export const validateUpdate = () => {};
